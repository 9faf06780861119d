// Ends each outstanding yield in exactly one completion: a result, an error, a
// timeout or a cancel, whichever comes first.
//
// Thread-safety: any thread may call Answer, Complete, CompleteAfter,
// IsPending, OwnerOf, HasRoom and the functions for timers. Only the turn of
// the process may call Open, Apply, ForEachTag and the functions that close
// yields.
// performance-notes: Prefetch of due timers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/delivery/delivery.h"
#include "runtime/delivery/durable_log.h"
#include "runtime/process/catalog.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/settings/limits.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/processor.h"
#include "runtime/table/process_table.h"
#include "runtime/tasks/task_table.h"
#include "runtime/yields/cancel_yield_effect.h"
#include "runtime/yields/timer_kind.h"

namespace actord::runtime {

class YieldBroker {
 public:
  // A completion of up to this many bytes is never refused for its size or for
  // lack of room. So errors, timeouts and short results always fit. The limit
  // of yields bounds how many of these completions wait;
  // StepContext::kMaxEffects bounds how many come within a turn.
  static constexpr size_t kAlwaysRoomBytes = Run::kAlwaysRoomBytes;
  static constexpr std::string_view kNoRoomText =
      "the completions that wait for the process take all the bytes that they "
      "may";

  // `log`: null if the runtime has no store.
  YieldBroker(Scheduler& scheduler, const ProcessTable& processes,
              Delivery& delivery, TaskTable& tasks, DurableLog* log,
              const LiveLimits& limits, size_t capacity, size_t lanes);

  // Opens a record for a yield of `process` that a remote worker carries out.
  // 0: the daemon has too many yields.
  actord_completion OpenExternal(Process& process, uint32_t generation,
                                 uint64_t tag, Lane& lane) {
    const uint32_t slot =
        Prepare(process, generation, tag, YieldRecord::Kind::kExternal, lane);
    return slot == kNoYieldSlot ? 0 : MakePending(slot);
  }
  // How long a yield may take; 0: for ever. `age_ns`: how long ago it began, if
  // that was before a restart.
  struct Times {
    uint64_t timeout_ns = 0;
    uint64_t age_ns = 0;
  };
  // The same for a command of the daemon or of a plugin, and SetTimeout.
  // `handler`: lives for good (Catalog); null: not known.
  actord_completion OpenCommand(Process& process, uint32_t generation,
                                uint64_t tag, const CommandHandler* handler,
                                const Times& times, Lane& lane);
  // The same for a call to `callee`.
  actord_completion OpenCall(Process& process, uint32_t generation,
                             uint64_t tag, const Pid& callee,
                             const Times& times, Lane& lane);
  // A call, or a command of the daemon or of a plugin, without an answer.
  struct OpenedCall {
    Pid caller;
    Pid callee;                               // empty: it is a command
    const CommandHandler* command = nullptr;  // null: it is a call
    CallTimes times;
  };
  // Calls `use` with each call, and with each command if `with_commands`, whose
  // record is in a slot from `first` on, until `use` returns false: then
  // returns that slot. Examines at most `max_slots` slots, and returns the next
  // one; 0: the records end before. Any thread.
  uint32_t ForEachCall(uint32_t first, uint32_t max_slots, bool with_commands,
                       absl::FunctionRef<bool(const OpenedCall&)> use) const;
  // Completes the yield as DEADLINE_EXCEEDED after `timeout_ns`, unless it has
  // ended by then.
  void SetTimeout(actord_completion handle, uint64_t timeout_ns);

  // Completes the yield with exactly this payload. kAccepted: this call
  // completed the yield. kExpired: the yield had ended before. kMailboxFull:
  // there is no room beside the completions that wait for the process; the
  // yield stays pending. Completions that other threads make at the same moment
  // may exceed the room. The caller checks the payload's size. `is_answer`: the
  // store remembers it as the answer to an external task.
  CompleteAnswer Answer(actord_completion handle, int32_t status,
                        const actord_payload& payload, Lane& lane,
                        bool is_answer);
  // Completes the yield in any case: an error replaces a payload that is above
  // the limit or has no room. ACTORD_OK: this call completed the yield with the
  // payload. ACTORD_INVALID_ARGUMENT (size), ACTORD_RESOURCE_EXHAUSTED (room):
  // this call completed the yield with that error. ACTORD_FAILED_PRECONDITION:
  // the yield had ended before.
  int32_t Complete(actord_completion handle, int32_t status,
                   const actord_payload& payload, Lane& lane);
  // Completes a process.spawn of a durable process whose volatile child has
  // begun. The record of the completion has the ties to the child. False: the
  // yield had ended before.
  bool CompleteSpawn(actord_completion handle, const TiedChild& tied,
                     Lane& lane);
  // Completes the yield with an empty result after `delay_ns`; an earlier
  // timeout stays in force. False: the yield had ended before.
  bool CompleteAfter(actord_completion handle, uint64_t delay_ns);
  // True: the yield is not completed yet.
  [[nodiscard]] bool IsPending(actord_completion handle) const {
    return FindPending(handle) != nullptr;
  }
  // The process and tag of the yield, if the yield is not completed yet.
  [[nodiscard]] std::optional<YieldToken> OwnerOf(
      actord_completion handle) const;
  // Completes the named yield of `process` as CANCELLED, unless the yield has
  // ended. From the turn of the process.
  void Apply(CancelEffect&& cancel, Process& process, const Pid& self,
             Lane& lane);
  // The part of Apply that concerns the process alone. True: the caller has to
  // tell the task table, because the yield was external.
  bool GiveUp(uint64_t tag, Process& process, Lane& lane);
  // Ends the yield of `process` with this tag, whose completion the turn has in
  // its hands. Returns the slot of the record, to be closed; kNoYieldSlot: the
  // yield has ended. From the turn of the process.
  uint32_t EndByTag(const Process& process, uint64_t tag);

  // The next four functions are for timers. Precondition: `handle` comes from a
  // timer of a yield that was opened.

  // For a timer that is about to fire. Call PrefetchRecord first, and
  // PrefetchProcess once the record may have arrived in the cache.
  void PrefetchRecord(actord_completion handle) const {
    PrefetchForWrite(&records_.At(SlotOf(handle)));
  }
  void PrefetchProcess(actord_completion handle) const;
  // To be called when a timer of this kind is due. Completes the yield, unless
  // it has ended. A process that becomes runnable goes into `ready`, which must
  // have room for it.
  void ResultDue(actord_completion handle, Lane& lane, ReadyList& ready) {
    EndByTimer(handle, ACTORD_OK, {}, lane, ready);
  }
  void TimeoutDue(actord_completion handle, Lane& lane, ReadyList& ready);

  // Frees the record in `slot`, after its completion has reached the process.
  void Close(Process& process, uint32_t slot, Lane& lane);
  // Ends all yields of `process` without a completion, except the tags in
  // `kept`. A yield whose completion is already on its way to the process keeps
  // its record; its tag is passed to `on_its_way`. `withdrawn`: gets the
  // external yields, and the caller tells the task table. Null: this function
  // tells the task table.
  void CloseOthers(Process& process, uint32_t generation,
                   const absl::flat_hash_set<uint64_t>& kept, Lane& lane,
                   absl::FunctionRef<void(uint64_t tag)> on_its_way,
                   std::vector<YieldToken>* withdrawn = nullptr);
  // Ends all yields of `process`, which has ended, without a completion.
  // Precondition: there is one.
  // (Not inlined: few processes end with a yield.)
  [[gnu::noinline]] void CloseAll(Process& process, uint32_t generation,
                                  Lane& lane);
  // Calls `use` with the tag of each yield of `process` that has a record. From
  // the turn of the process.
  void ForEachTag(const Process& process,
                  absl::FunctionRef<void(uint64_t tag)> use) const;

  // The room that a waiting completion takes, in units of kBufferUnitBytes.
  static uint32_t ChargeOf(const Envelope& completion) {
    return completion.payload_bytes > kAlwaysRoomBytes ? completion.units() : 0;
  }
  // True: the process has room for a completion with this payload now. Any
  // thread.
  [[nodiscard]] bool HasRoom(const Process& process,
                             const actord_payload& payload) const;
  // The maximum payload of a completion with this status.
  [[nodiscard]] size_t MaxBytes(int32_t status) const {
    const size_t max = limits_.max_payload_bytes();
    return status == ACTORD_OK ? max : std::max(max, kAlwaysRoomBytes);
  }
  // The error text for a payload that does not fit (precondition). `what` names
  // the object with this payload.
  [[nodiscard]] std::string WhyItDoesNotFit(const char* what,
                                            const actord_payload& payload,
                                            int32_t status) const;

 private:
  static_assert(SlotTable<YieldRecord>::kMaxSlots <= kTimerMaxSlots);
  // The two halves of Open: fills a record, and makes it pending. Prepare
  // returns kNoYieldSlot if the daemon has too many yields.
  uint32_t Prepare(Process& process, uint32_t generation, uint64_t tag,
                   YieldRecord::Kind kind, Lane& lane);
  actord_completion MakePending(uint32_t slot);
  // Makes a call or a command pending, and sets its timeout.
  actord_completion MakeWaiting(uint32_t slot, const Pid& callee,
                                const Times& times);
  [[nodiscard]] static bool IsExternal(const YieldRecord& record) {
    return record.kind.load(std::memory_order_relaxed) ==
           YieldRecord::Kind::kExternal;
  }
  static uint32_t SlotOf(actord_completion handle) {
    return static_cast<uint32_t>(handle);
  }
  static uint32_t GenerationOf(actord_completion handle) {
    return static_cast<uint32_t>(handle >> 32);
  }
  // The record of a handle. Null: the handle was never given out.
  YieldRecord* Find(actord_completion handle) const;
  // The record of a pending yield. Null also if the yield has ended.
  const YieldRecord* FindPending(actord_completion handle) const;
  // Whether the completion of a durable process goes into the journal. A
  // timeout and a cancel do not, because they happen again after a restart.
  // kAsAnswer: it is logged as an answer that the store remembers.
  enum class Logged : uint8_t { kIfDurable, kNever, kAsAnswer };
  // Completes the yield, unless it has ended. True: this call completed it.
  // `later`: see Delivery::Post.
  bool Deliver(YieldRecord& record, actord_completion handle, int32_t status,
               const actord_payload& payload, Lane& lane, Logged logged,
               ReadyList* later = nullptr);
  // Wins the yield, unless it has ended: no other completion can come
  // afterwards. From then on the record may be closed and used again at any
  // moment.
  struct Won {
    Process* process = nullptr;
    uint32_t generation = 0;
    uint64_t tag = 0;
  };
  [[gnu::always_inline]] static std::optional<Won> Win(
      YieldRecord& record, actord_completion handle);
  // Sends the completion of a yield that was won.
  [[gnu::always_inline]] void Post(Process& process, const Pid& pid,
                                   Envelope* completion, Lane& lane,
                                   ReadyList* later);
  // Logs the completion of a durable process, and returns it; null: the journal
  // takes no more records, and the process takes no more steps.
  Envelope* NewDurable(const YieldToken& yield, int32_t status,
                       actord_payload payload, Logged logged, Lane& lane);
  // The slot of the yield with this tag, or kNoYieldSlot.
  [[nodiscard]] uint32_t SlotWithTag(const Process& process,
                                     uint64_t tag) const;
  static actord_completion HandleOf(const YieldRecord& record, uint32_t slot) {
    return (record.word.load(std::memory_order_relaxed) &
            ~uint64_t{UINT32_MAX}) |
           slot;
  }
  void AddTimer(const YieldRecord& record, TimerKind kind,
                actord_completion handle, uint64_t deadline_ns);
  void EndByTimer(actord_completion handle, int32_t status,
                  const actord_payload& payload, Lane& lane, ReadyList& ready);
  // Ends the yield without a completion. False: the yield was completed before.
  // `withdrawn`: as for CloseOthers.
  bool Expire(const Process& process, uint32_t generation, YieldRecord& record,
              std::vector<YieldToken>* withdrawn = nullptr);
  // Precondition: the yield has ended.
  void Free(Process& process, uint32_t slot, Lane& lane);
  // These two read the records of a process, from its turn.
  [[nodiscard]] uint64_t TagOf(uint32_t slot) const {
    return records_.At(slot).tag.load(std::memory_order_relaxed);
  }
  [[nodiscard]] uint32_t NextOf(uint32_t slot) const {
    return records_.At(slot).next;
  }

  Scheduler& scheduler_;
  const ProcessTable& processes_;
  Delivery& delivery_;
  TaskTable& tasks_;
  DurableLog* const log_;
  const LiveLimits& limits_;
  SlotTable<YieldRecord> records_;
};

inline std::optional<YieldBroker::Won> YieldBroker::Win(
    YieldRecord& record, actord_completion handle) {
  uint64_t pending =
      YieldRecord::Word(GenerationOf(handle), YieldRecord::kPending);
  // Acquire: pairs with Open, for the fields.
  if (record.word.load(std::memory_order_acquire) != pending) {
    return std::nullopt;
  }
  const Won won{record.process.load(std::memory_order_relaxed),
                record.process_generation.load(std::memory_order_relaxed),
                record.tag.load(std::memory_order_relaxed)};
  if (!record.word.compare_exchange_strong(
          pending, YieldRecord::Word(GenerationOf(handle), YieldRecord::kEnded),
          std::memory_order_acq_rel)) {
    return std::nullopt;
  }
  FailPoint();
  return won;
}

inline void YieldBroker::Post(Process& process, const Pid& pid,
                              Envelope* completion, Lane& lane,
                              ReadyList* later) {
  if (const uint32_t charge = ChargeOf(*completion)) {
    process.completion_units.fetch_add(charge, std::memory_order_relaxed);
  }
  lane.Count(&Counters::completions);
  Run run(Run::Kind::kUrgent, completion, Owner::kAny);
  if (delivery_.Post(pid, run, lane, later) != Posted::kDelivered)
      [[unlikely]] {
    // The process ended meanwhile, so no one waits for the completion.
    process.completion_units.fetch_sub(ChargeOf(*completion),
                                       std::memory_order_relaxed);
    lane.Free(run.first);
  }
}

}  // namespace actord::runtime
