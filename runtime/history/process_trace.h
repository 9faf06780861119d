// Extracts the history of one process from the records of a journal.
//
// Most records belong to other processes. A record is decoded only if its bytes
// hold the PID of the process, or if it may answer a call of the process.
//
// Bounds: keeps the messages that no step has consumed, at most kMaxHeldBytes
// of their contents, and the calls that have no answer.
//
// Thread-safety: belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "runtime/history/history_item.h"
#include "runtime/journal/format.h"
#include "runtime/memory/buffer_pool.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"
#include "runtime/records/records.h"
#include "runtime/step/record_format.h"
#include "runtime/store/state_values.h"

namespace actord::runtime {

class ProcessTrace {
 public:
  // Facts in the records beside the lines of the history.
  struct Facts {
    bool seen = false;
    // A SUBMITTED, or the step of the parent, was among the records.
    bool seen_begin = false;
    std::optional<Owner> owner;
    Pid parent;  // of a child that a step has spawned
    std::optional<uint64_t> ended_ns;
    uint64_t last_step = 0;
  };

  // Payloads are cut to `max_payload_bytes`.
  ProcessTrace(const Pid& pid, size_t max_payload_bytes);
  ProcessTrace(const ProcessTrace&) = delete;
  ProcessTrace& operator=(const ProcessTrace&) = delete;

  // Sets the relation of the wall clock to the store's clock, until a TIME
  // gives it.
  void SetOffset(uint64_t unix_ns, uint64_t store_ns) {
    offset_ns_ = unix_ns - store_ns;
  }
  // Takes the next record of the journal, and appends its lines to `items`.
  // DATA_LOSS: the record is damaged.
  absl::Status Take(const RecordView& record, std::vector<HistoryItem>& items);
  // Takes a step that the state store keeps, with its payload.
  absl::Status TakeStored(uint64_t lsn, std::string_view payload,
                          const std::vector<Consumed>& consumed,
                          std::vector<HistoryItem>& items);
  [[nodiscard]] const Facts& facts() const { return facts_; }
  // Sets the plugin behind a number. Take learns it from the journal, too.
  void SetPlugin(const records::Plugin& plugin);

  // The line of an event that waits in the mailbox. Its body may be in an
  // earlier record.
  [[nodiscard]] HistoryItem Waiting(uint64_t position, const Mail& mail) const;
  // A line with this time of the store's clock; 0: the time of the last record.
  [[nodiscard]] HistoryItem Item(HistoryKind kind, uint64_t store_ns) const;
  [[nodiscard]] uint64_t UnixNs(uint64_t store_ns) const {
    return store_ns == 0 ? 0 : store_ns + offset_ns_;
  }
  void SetPayload(HistoryItem& item, const Payload& payload) const;

 private:
  static constexpr size_t kMaxHeldBytes = 32 << 20;
  // With more open calls, each step is decoded instead of searched.
  static constexpr size_t kSearchedCalls = 4;

  struct Arrival {
    MailKind kind = MailKind::kMessage;
    uint64_t at_ns = 0;
    Pid from = {};
    uint64_t tag = 0;
    int32_t status = 0;
    std::string topic = {};
    Payload payload = {};  // cut
    uint64_t payload_bytes = 0;
  };
  using Items = std::vector<HistoryItem>;

  [[nodiscard]] bool Concerns(const RecordView& record) const;
  [[nodiscard]] bool MayAnswerCall(std::string_view payload) const;

  void Take(const records::Submitted& record, Items& items);
  void Take(const records::Started& record, Items& items);
  void Take(const records::Input& record, Items& items);
  absl::Status Take(const records::Step& record, Items& items);
  void Take(const records::Done& record, Items& items);
  void Take(const records::Dropped& record, Items& items);
  void Take(const records::Resent& record, Items& items);
  void Take(const records::Attempt& record, Items& items);
  void Take(const records::YieldOver& record, Items& items);
  void Take(const records::Ended& record, Items& items);
  void Take(const records::Upgraded& record, Items& items);
  void Take(const records::Plugin& record, Items& items);
  void Take(const records::Time& record, Items& items);
  void Take(const auto& /*record*/, Items& /*items*/) {}

  // ---- process_trace_steps.cc
  absl::Status TakeOwnStep(const records::Step& record, Items& items);
  void TakeEvents(const records::Step& record, const DecodedRecord& turn,
                  Items& items);
  void TakeEvent(const records::Step& record, const actord_event& event,
                 Items& items);
  void TakeConsumed(const records::Step& record, uint64_t position,
                    Items& items);
  void TakeEffect(const records::Step& record, const DecodedRecord& turn,
                  size_t index, Items& items);
  // A step of another process.
  void TakeOtherStep(const records::Step& record, const DecodedRecord& turn,
                     Items& items);
  void EndItem(const records::End& end, uint64_t step, Items& items);

  void Arrive(uint64_t position, Arrival arrival, const Payload& payload);
  void Forget(uint64_t position);
  // The call of the process with this tag has an answer, or no longer wants
  // one.
  void EndCall(uint64_t tag);
  [[nodiscard]] HistoryItem ItemOf(const Arrival& arrival,
                                   uint64_t position) const;

  const Pid pid_;
  const size_t max_payload_bytes_;
  std::string pid_in_fields_;
  std::string pid_in_steps_;
  BufferPool pool_;
  BufferCache buffers_;
  Facts facts_;
  uint64_t offset_ns_ = 0;  // modulo 2^64
  // The record that is being taken, and the last time in any record.
  uint64_t lsn_ = 0;
  uint64_t last_ns_ = 0;
  // Events for the process that no step has consumed, by their positions.
  absl::btree_map<uint64_t, Arrival> arrivals_;
  size_t held_bytes_ = 0;
  // Tags of the calls that have no answer, by the positions that name them.
  absl::flat_hash_map<uint64_t, uint64_t> calls_;
  // Tags of process.spawn that wait for the child.
  absl::flat_hash_map<Pid, uint64_t> spawns_;
  // Names and versions.
  absl::flat_hash_map<records::PluginNumber, std::string> plugins_;
};

}  // namespace actord::runtime
