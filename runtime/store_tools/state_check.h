// Reads every entry of a state store, counts the entries, and checks that they
// fit together.
//
// Thread-safety: one thread at a time. Lifetime: ends before state and report.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/process/pid.h"
#include "runtime/store/state_keys.h"
#include "runtime/store/state_store.h"
#include "runtime/store/state_values.h"
#include "runtime/store_tools/store_report.h"

namespace actord::runtime {

class StateCheck {
 public:
  // The journal has the records from `first_lsn` to before `end_lsn`.
  StateCheck(StateStore& state, uint64_t first_lsn, uint64_t end_lsn,
             StoreReport& report)
      : state_(state),
        first_lsn_(first_lsn),
        end_lsn_(end_lsn),
        report_(report) {}
  StateCheck(const StateCheck&) = delete;
  StateCheck& operator=(const StateCheck&) = delete;

  // A mistake in an entry becomes a finding. An error: the state store cannot
  // be read.
  absl::Status Run();

  // The bodies that only the journal holds, in the order of their positions:
  // the position of the record, and the number of the body in it.
  struct BodyInJournal {
    uint64_t lsn = 0;
    uint64_t index = 0;
    friend auto operator<=>(const BodyInJournal&,
                            const BodyInJournal&) = default;
  };
  [[nodiscard]] const std::vector<BodyInJournal>& bodies() const {
    return bodies_;
  }

 private:
  void CheckEntry(std::string_view key, std::string_view value);
  void CheckProcess(std::string_view key, std::string_view value);
  void CheckMail(std::string_view key, std::string_view value);
  void CheckHistory(std::string_view key, std::string_view value);
  void CheckOwner(std::string_view key, std::string_view value);
  void CheckPlugin(std::string_view key, std::string_view value);
  void CheckReferences(KeyKind kind, std::string_view key,
                       std::string_view value);
  void CheckBody(const Mail& mail, uint64_t position, std::string_view key);
  // Checks that the process whose PID is at `offset` of the key is alive.
  // False: it is not, or the key is too short.
  bool Lives(std::string_view key, size_t offset);
  // False: the value cannot be decoded, which is a finding.
  template <typename T>
  bool Decode(std::string_view key, std::string_view value, T& into);
  void Damage(std::string_view key, std::string_view what);
  uint64_t& CountOf(uint8_t kind);
  void CheckIdCounts();
  void Finish();

  StateStore& state_;
  const uint64_t first_lsn_;
  const uint64_t end_lsn_;
  StoreReport& report_;
  StoreMeta meta_;
  // The PIDs of the processes, in their order. Their entries come before all
  // entries that refer to them.
  std::vector<Pid> pids_;
  std::vector<BodyInJournal> bodies_;
  // Entries that must exist.
  struct Holder {
    std::string key;
    const char* why = "";
  };
  std::vector<Holder> holders_;
  // Positions of calls whose id says that there is an answer, and of calls with
  // an answer.
  std::vector<uint64_t> answers_wanted_;
  std::set<uint64_t> answers_;
  std::map<std::pair<std::string, bool>, uint64_t> types_;
  std::map<uint16_t, StoreReport::OwnerOf> owners_;
  std::map<records::PluginNumber, StoreReport::PluginVersion> plugins_;
  std::map<uint8_t, uint64_t> orders_;  // by kind of id
};

}  // namespace actord::runtime
