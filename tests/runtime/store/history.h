// Random valid histories of durable processes: what a journal could hold.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/journal/format.h"
#include "runtime/records/records.h"
#include "runtime/store/record_source.h"

namespace actord::runtime {

// An effect of a step in plain words, from which the record and the expected
// state are made apart from each other.
struct ActEffect {
  enum class Kind {
    kSend,
    kSpawn,
    kYield,
    kCall,
    kReply,
    kMonitor,
    kDemonitor,
    kLink,
    kUnlink,
    kCancel
  };
  Kind kind = Kind::kSend;
  Pid to = {};
  uint64_t tag = 0;       // of the yield, the monitor, or the call to answer
  std::string text = {};  // payload
  int32_t status = 0;
  bool link = false;
  bool keep_result = false;
};

// An event that a step carries whole.
struct ActEvent {
  bool is_exit = false;  // otherwise a completion
  Pid from = {};
  uint64_t tag = 0;
};

// The events of a life that hands on so many exits, as records::Continued has
// them.
std::string TurnOfExits(size_t count);

// One record, with what it means.
struct Act {
  uint64_t lsn = 0;
  uint16_t kind = 0;
  uint16_t flags = 0;
  std::string payload;
  // Not for OPENED.
  records::Any record;
  std::vector<ActEffect> effects;  // of a step
  std::vector<ActEvent> events;    // of a step

  [[nodiscard]] RecordView view() const { return {lsn, kind, flags, payload}; }
  [[nodiscard]] uint64_t end() const {
    return lsn + RecordBytes(payload.size());
  }
};

// The acts, as the journal that holds them.
class History final : public RecordSource {
 public:
  History();
  History(History&& other) noexcept;
  ~History() override;

  // `count` acts, which the seed determines.
  static History Random(uint64_t seed, size_t count);

  // Encodes the record behind the others.
  void Add(records::Any record, std::vector<ActEffect> effects = {},
           std::vector<ActEvent> events = {});
  void AddOpened(uint64_t incarnation);
  void RemoveLast();

  absl::StatusOr<SourceRecord> At(uint64_t lsn) override;
  void Trim(uint64_t to) { trimmed_ = to; }

  [[nodiscard]] const std::vector<Act>& acts() const { return acts_; }
  // The number of acts before the position.
  [[nodiscard]] size_t CountBefore(uint64_t lsn) const;

 private:
  void Push(Act&& act);

  class TurnWriter;

  std::unique_ptr<TurnWriter> turns_;
  std::vector<Act> acts_;
  uint64_t next_ = kFirstLsn;
  uint64_t trimmed_ = 0;
};

}  // namespace actord::runtime
