// The durable processes of this runtime: their homes, the durable state of each
// process beside the process itself, and the way of their records into the
// journal.
//
// Thread-safety: any thread; a DurableState belongs to the turn of its process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/counters/counters.h"
#include "runtime/delivery/durable_log.h"
#include "runtime/delivery/quarantine.h"
#include "runtime/durable/durable_store.h"
#include "runtime/durable/step_of_history.h"
#include "runtime/process/listed/failed_step.h"
#include "runtime/process/outcome.h"
#include "runtime/process/payload.h"
#include "runtime/process/process.h"
#include "runtime/process/upgrading.h"
#include "runtime/records/records.h"
#include "runtime/settings/options.h"
#include "runtime/system/clock.h"
#include "runtime/table/homes.h"
#include "runtime/table/process_table.h"

namespace actord::runtime {

// The data with which a process leaves quarantine.
struct HeldInQuarantine {
  bool was_blocked = false;
  bool step_due = false;
  // The completions, cancels and ends of ties that have come since, and that no
  // step has seen. Owned.
  EnvelopeList held;
  bool holds_cancel = false;
};

// What each turn uses comes last, side by side, so that a turn touches few
// lines of the cache.
struct DurableState {
  // ---- For the turn that restores the state.

  // Why the state cannot be restored, although its code may be right: the store
  // is damaged. OK: it is not.
  absl::Status damage;
  std::optional<std::string> image;
  // For a replay type: the answers that Init got and its input, unless there is
  // an image; and the steps since then.
  std::string init;
  Payload input;
  std::vector<StepOfHistory> history;
  // The outstanding yields, as the store has them, until the first turn after a
  // restart takes them up.
  std::vector<records::YieldImage> yields;
  [[nodiscard]] YieldTags YieldsOfImage() const {
    YieldTags tags;
    for (const records::YieldImage& yield : yields) tags.insert(yield.tag);
    return tags;
  }
  // For a process that has begun again: see ProcessEntry.
  uint64_t life_after_step = 0;
  uint64_t life_from_tag = 1;
  // Takes the state of a process that has begun out of `stored`. The next turn
  // restores it.
  void TakeStored(StoredProcess& stored);

  // ---- For the begin and the end.

  // The plugin whose code holds the state, as the store has it, once Init has
  // returned.
  records::PluginNumber plugin = records::kNoPlugin;
  // The position of the last record that says so; 0: this run has written none.
  uint64_t upgraded_at = 0;
  // When the lifetime ends; 0: never.
  uint64_t lifetime_ns = 0;
  // A timer ends the lifetime. False until the first turn of this run.
  bool has_lifetime_timer = false;
  // True until the start of the process is told. Null: it is told.
  std::shared_ptr<std::atomic<bool>> starting;
  // The process.spawn of a durable parent that waits for Init; empty: none.
  YieldToken spawn;

  // ---- For each turn.

  // The process has ended, but the end is not visible yet, because its record
  // is not durable.
  struct End {
    EndCause cause;
    Payload result;
    std::unique_ptr<FailedStep> failed_step = {};  // null: no step has failed
  };
  std::optional<End> end;
  // Set: the process is in quarantine (quarantine.h).
  std::optional<HeldInQuarantine> quarantined;
  // The next turn restores the state, from `image`, or by `history`, or both.
  bool restore_due = false;
  // How the process is durable, once Init has returned.
  records::Durability durability = records::Durability::kImage;
  // The last record says that the process waits for messages, and that no step
  // is due without one. False at first, and after a restart.
  bool waits = false;
  // The next `unexamined` steps with nothing but calls are not examined for
  // queries (DurableTurn::MayBeQuery). `changes` is the last such number: it
  // doubles while the examined steps change the state, and a query sets it to
  // 0.
  uint8_t changes = 0;
  uint8_t unexamined = 0;
  // The log has said that the history is long.
  bool warned_of_history = false;
  // The queries (DurableTurn::MayBeQuery) among the steps of the process. The
  // store does not count them.
  uint64_t queries = 0;
  // For a replay type: the steps and bytes in the journal since the last image.
  uint64_t history_steps = 0;
  uint64_t history_bytes = 0;
  // After this many steps an image is due, so that a restart need not run more
  // of them again. A process that has so many steps and no image does not
  // become dormant, because its next message would run all of them again.
  [[nodiscard]] bool IsImageDue() const {
    return history_steps >= 1000 || history_bytes >= 64 << 10;
  }
  // Whether the history has reached 1 / `share` of its limits.
  [[nodiscard]] bool HasHistory(const DurableLimits& limits,
                                uint64_t share) const {
    const auto has = [share](uint64_t amount, uint64_t max) {
      return max != 0 && amount >= max / share;
    };
    return has(history_steps, limits.max_history_steps) ||
           has(history_bytes, limits.max_history_bytes);
  }
  // Counts a step of a replay type. `consumed_bytes`: the size of the bodies
  // that the step has consumed.
  void CountStep(const records::Step& step, uint64_t consumed_bytes) {
    const bool has_image = step.image.has_value();
    history_steps = has_image ? 0 : history_steps + 1;
    history_bytes =
        has_image ? 0 : history_bytes + step.record.size() + consumed_bytes;
  }
  // The positions (ProcessEntry::unseen_positions) of the events that a former
  // life has handed on, as long as no step has got them.
  absl::flat_hash_map<const Envelope*, uint64_t> unseen;
  // The caller that waits for the answer to a call.
  struct Caller {
    uint64_t handle = 0;   // for a caller outside or a volatile process
    YieldToken yield;      // for a durable process; empty: another caller
    bool is_kept = false;  // a call from outside with a message id
  };
  // The calls that the process has received and not answered, by the id under
  // which the process knows each call: the position of the call for a durable
  // caller, CallIdOf for any other.
  absl::flat_hash_map<uint64_t, Caller> calls;
  uint64_t next_call = 0;
  // At this size, calls whose callers have given up are removed.
  size_t tidy_calls_at = 64;
};

// Its LastingTime is the time of the store.
class DurableProcesses final : public DurableLog, public LastingTime {
 public:
  // `processes` gets the homes. Both are borrowed.
  DurableProcesses(DurableStore& store, ProcessTable& processes,
                   const Clock& clock, const DurableLimits& limits);
  ~DurableProcesses();
  DurableProcesses(const DurableProcesses&) = delete;
  DurableProcesses& operator=(const DurableProcesses&) = delete;

  Homes& homes() { return homes_; }
  [[nodiscard]] const DurableLimits& limits() const { return limits_; }
  Releases& releases() { return store_.releases(); }
  DurableStore& store() { return store_; }
  Quarantine& quarantine() { return quarantine_; }
  [[nodiscard]] const Quarantine& quarantine() const { return quarantine_; }

  // Appends a record; returns its position. RESOURCE_EXHAUSTED,
  // STEP_TOO_LARGE: the record is too large. UNAVAILABLE: the journal has
  // failed or is closed.
  template <typename OneRecord>
  absl::StatusOr<uint64_t> Append(const OneRecord& record);
  // The same for encoded records that are reserved together; returns the
  // position of the first one. Precondition: there is a record.
  absl::StatusOr<uint64_t> AppendAll(std::span<const Record> records);
  // PAYLOAD_TOO_LARGE, naming this field of a request: a record of this size
  // would be refused.
  [[nodiscard]] absl::Status CheckSize(std::string_view field,
                                       size_t bytes) const;
  // The status of Append for a record that holds this field of a request:
  // PAYLOAD_TOO_LARGE in place of STEP_TOO_LARGE.
  [[nodiscard]] absl::Status OfRequest(std::string_view field,
                                       const absl::Status& appended) const;
  [[nodiscard]] size_t MaxCompletionBytes() const override {
    constexpr size_t kFieldsBytes = 4096;
    return store_.journal().max_record_bytes() - kFieldsBytes;
  }
  uint64_t LogCompletion(const YieldToken& yield, int32_t status,
                         const actord_payload& payload,
                         const Fingerprint& answer) override;
  [[nodiscard]] Fingerprint AnswerOf(
      int32_t status, const actord_payload& payload) const override;
  uint64_t LogSpawn(const YieldToken& yield, const TiedChild& tied,
                    std::string_view pid_text) override;
  uint64_t LogAttempt(const YieldToken& yield, uint32_t attempt,
                      std::string_view worker, Owner worker_owner,
                      uint64_t lease_ns) override;
  // A caller that waits for this position also waits for all earlier records.
  [[nodiscard]] uint64_t LastPosition() const {
    return store_.journal().Tail() - 1;
  }
  // Work from outside is refused: with STORE_FULL if the disk has no room for
  // it, and with JOURNAL_BEHIND if the disk is behind.
  [[nodiscard]] absl::Status CheckRoom() const;
  // Only STORE_FULL, for work that has waited until the disk was no longer
  // behind.
  [[nodiscard]] absl::Status CheckFull() const;
  // How often these functions and the next two have refused with STORE_FULL.
  [[nodiscard]] uint64_t refused_full() const { return refused_full_.Get(); }
  // For a call: the same errors if durable processes take no steps now.
  [[nodiscard]] absl::Status CheckTurns() const;
  // For ends and completions: the same errors if the thread would wait for room
  // in the ring.
  [[nodiscard]] absl::Status CheckFilling() const;

  // PROCESS_LIMIT, for a process that got no PID.
  [[nodiscard]] absl::Status NoPlace() const;
  // DRAINING, for the submitter of a process whose Init is postponed until the
  // next start.
  static absl::Status BeginsLater();

  // The time of the store's clock, in nanoseconds.
  [[nodiscard]] uint64_t NowNs() const override { return store_.NowNs(); }
  [[nodiscard]] const Clock& clock() const { return clock_; }

  // The home of a process with this name; "": any home.
  uint32_t HomeFor(std::string_view name);

  // Begins the state of a durable process. Precondition: its slot has no state,
  // and no other thread knows of the process.
  DurableState& Begin(const Process& process);
  DurableState& StateOf(const Process& process) const;
  // Ends the state. To be called in the last turn of the process, or instead of
  // a first turn.
  void Forget(const Process& process);
  // For a process that is about to become dormant, in its turn: no id of a call
  // may come again when it is back.
  void NoteCalls(const DurableState& state);
  // A process refuses to become dormant because its history is long. There is
  // at most one note for each order to become dormant. Any thread.
  void NoteLongHistory(const Pid& pid) {
    const MutexLock lock(long_histories_mutex_);
    long_histories_.push_back(pid);
  }
  // Takes the notes. Any thread.
  std::vector<Pid> TakeLongHistories() {
    const MutexLock lock(long_histories_mutex_);
    return std::exchange(long_histories_, {});
  }
  // Ends the state of a process that has just become dormant. To be called in
  // its turn.
  void ForgetDormant(const Process& process) { PlaceOf(process).reset(); }
  // Begin for a dormant process that comes back.
  DurableState& BeginAgain(const Process& process);
  // Counts a dormant process of the store. To be called only by the recovery.
  void CountDormant() { live_.fetch_add(1, std::memory_order_relaxed); }
  // The children in the store that process.spawn has submitted and whose Init
  // has not returned: their parents' yields are not carried out again. Written
  // only by the recovery.
  void NoteSpawn(const YieldToken& yield) { spawning_.insert(yield); }
  [[nodiscard]] bool IsSpawning(const YieldToken& yield) const {
    return spawning_.contains(yield);
  }
  // The id of call number `number` of a process in this start. A process may
  // keep an id in its state, so no id comes again in a later start, and no id
  // is the position of a call.
  [[nodiscard]] uint64_t CallIdOf(uint64_t number) const {
    constexpr int kNumberBits = 39;
    constexpr uint64_t kMask = (uint64_t{1} << kNumberBits) - 1;
    return uint64_t{1} << 63 | start_ << kNumberBits | (number & kMask);
  }
  // Number of durable processes, dormant ones included.
  [[nodiscard]] uint64_t live() const {
    return live_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kChunkStates = 4096;
  static constexpr uint32_t kChunks = (uint32_t{1} << 28) / kChunkStates;
  using Chunk = std::array<std::unique_ptr<DurableState>, kChunkStates>;

  std::unique_ptr<DurableState>& PlaceOf(const Process& process) const;
  static absl::Status Behind();
  [[nodiscard]] absl::Status TooLarge(std::string_view field) const;

  DurableStore& store_;
  const Clock& clock_;
  const DurableLimits limits_;
  const uint64_t start_;  // counts the openings of the store
  Homes homes_;
  std::atomic<uint32_t> next_home_{0};
  mutable Counter refused_full_;
  // A record was refused, because the daemon ends. Later records are refused
  // too, because they may rest on it. (A small record could still find room.)
  std::atomic<bool> takes_no_more_{false};
  std::atomic<uint64_t> live_{0};
  // No dormant process has numbered more calls than this. Relaxed: a process
  // that wakes up sees its own value, because it sleeps and wakes under a lock.
  std::atomic<uint64_t> calls_of_dormant_{0};
  absl::flat_hash_set<YieldToken> spawning_;
  Mutex long_histories_mutex_;
  std::vector<Pid> long_histories_ ABSL_GUARDED_BY(long_histories_mutex_);
  Quarantine quarantine_;
  // By the slot of the process.
  const std::unique_ptr<std::array<std::atomic<Chunk*>, kChunks>> states_;
};

}  // namespace actord::runtime
