// Sees to it that each outstanding yield ends in exactly one completion: a
// result, an error, a timeout or a cancel, whichever is first.
//
// Thread-safety: Answer, Complete, CompleteAfter and what timers need from any
// thread; Open and what closes only from the turn of the process.
// performance-notes: Prefetch of due timers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/inbox/delivery.h"
#include "runtime/process/process_table.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/settings/limits.h"
#include "runtime/system/processor.h"
#include "runtime/tasks/task_table.h"
#include "runtime/yields/cancel_effect.h"
#include "runtime/yields/timer_kind.h"

namespace actord::runtime {

class YieldBroker {
 public:
  // A completion of this many bytes is never refused for want of room or for
  // its size: errors, timeouts and short results. How many of them wait is
  // bounded by the limit of yields, and of those that came within a turn by
  // StepContext::kMaxEffects.
  static constexpr size_t kAlwaysRoomBytes = Run::kAlwaysRoomBytes;
  static constexpr std::string_view kNoRoomText =
      "the completions that wait for the process take all the bytes that they "
      "may";

  YieldBroker(Scheduler& scheduler, const ProcessTable& processes,
              Delivery& delivery, TaskTable& tasks, const LiveLimits& limits,
              size_t capacity, size_t lanes);

  // A record for a yield of `process`; 0: there are too many in the daemon.
  actord_completion Open(Process& process, uint32_t generation, uint64_t tag,
                         bool external, Lane& lane);
  // Completes it as DEADLINE_EXCEEDED after `timeout_ns`, unless something
  // else is earlier.
  void SetTimeout(actord_completion handle, uint64_t timeout_ns);

  // kAccepted: this call completed it, with just this payload. kExpired: it had
  // ended before. kMailboxFull: there is no room beside the completions that
  // wait for the process; the yield waits on. Room may be exceeded by what
  // others complete at the same moment. The payload's size is the caller's
  // business.
  CompleteAnswer Answer(actord_completion handle, int32_t status,
                        const actord_payload& payload, Lane& lane);
  // Completes it in any case: a payload above the limit is replaced by an error
  // that says so, and so is one without room. ACTORD_OK: this call completed
  // it. ACTORD_INVALID_ARGUMENT, ACTORD_RESOURCE_EXHAUSTED: likewise, with the
  // error. ACTORD_FAILED_PRECONDITION: it had ended before.
  int32_t Complete(actord_completion handle, int32_t status,
                   const actord_payload& payload, Lane& lane);
  // Completes it with an empty result after `delay_ns`; an earlier timeout
  // stays. False: it had ended before.
  bool CompleteAfter(actord_completion handle, uint64_t delay_ns);
  // Nothing has completed it so far.
  [[nodiscard]] bool IsPending(actord_completion handle) const {
    return FindPending(handle) != nullptr;
  }
  // Whose it is, if nothing has completed it so far.
  [[nodiscard]] std::optional<YieldToken> OwnerOf(
      actord_completion handle) const;
  // Completes the yield of `process` as CANCELLED, unless it has ended. From
  // the turn of the process.
  void Apply(CancelEffect&& cancel, Process& process, const Pid& self,
             Lane& lane);

  // Of the next four, `handle` was given out, and is that of a timer.

  // Its timer is about to fire: first the one, and then, when its memory may
  // have come, the other.
  void PrefetchRecord(actord_completion handle) const {
    PrefetchForWrite(&records_.At(SlotOf(handle)));
  }
  void PrefetchProcess(actord_completion handle) const;
  // Timers of these kinds are due: complete the yield, unless it has ended.
  // What becomes runnable goes into `ready`, which has room for it.
  void ResultDue(actord_completion handle, Lane& lane, ReadyList& ready) {
    EndByTimer(handle, ACTORD_OK, {}, lane, ready);
  }
  void TimeoutDue(actord_completion handle, Lane& lane, ReadyList& ready);

  // The completion `envelope` has reached its process: its record is free
  // again.
  void Close(Process& process, uint32_t slot, Lane& lane);
  // None of its yields but those of `kept` will be completed any more. Those
  // whose completions are on their way to the process it leaves, and tells
  // `on_its_way`.
  void CloseOthers(Process& process, uint32_t generation,
                   const absl::flat_hash_set<uint64_t>& kept, Lane& lane,
                   absl::FunctionRef<void(uint64_t tag)> on_its_way);
  // The process has ended: none of its yields will be completed any more.
  void CloseAll(Process& process, uint32_t generation, Lane& lane);
  // Calls `use` with the tag of each yield of `process` that has a record. From
  // its turn.
  void ForEachTag(const Process& process,
                  absl::FunctionRef<void(uint64_t tag)> use) const;

  // What a completion takes of the room for those that wait, in units.
  static uint32_t ChargeOf(const Envelope& completion) {
    return completion.payload_bytes > kAlwaysRoomBytes ? completion.units() : 0;
  }
  // Whether there is room for it now. Any thread.
  [[nodiscard]] bool HasRoom(const Process& process,
                             const actord_payload& payload) const;
  // Of the payload of a completion with this status.
  [[nodiscard]] size_t MaxBytes(int32_t status) const {
    const size_t max = limits_.max_payload_bytes();
    return status == ACTORD_OK ? max : std::max(max, kAlwaysRoomBytes);
  }
  // For people. Precondition: it does not. `what`: whose payload it is.
  [[nodiscard]] std::string WhyItDoesNotFit(const char* what,
                                            const actord_payload& payload,
                                            int32_t status) const;

 private:
  static_assert(SlotTable<YieldRecord>::kMaxSlots <= kTimerMaxSlots);
  static uint32_t SlotOf(actord_completion handle) {
    return static_cast<uint32_t>(handle);
  }
  static uint32_t GenerationOf(actord_completion handle) {
    return static_cast<uint32_t>(handle >> 32);
  }
  // The record of a handle, null if the handle was never given out.
  YieldRecord* Find(actord_completion handle) const;
  // Null also if its yield has ended.
  const YieldRecord* FindPending(actord_completion handle) const;
  // Completes it, unless it has ended. Whether this call has completed it.
  // `later`: see Delivery::Post.
  bool Deliver(YieldRecord& record, actord_completion handle, int32_t status,
               const actord_payload& payload, Lane& lane,
               ReadyList* later = nullptr);
  void AddTimer(const YieldRecord& record, TimerKind kind,
                actord_completion handle, uint64_t deadline_ns);
  void EndByTimer(actord_completion handle, int32_t status,
                  const actord_payload& payload, Lane& lane, ReadyList& ready);
  // False: something else has completed it.
  bool Expire(const Process& process, uint32_t generation, YieldRecord& record);
  // Precondition: it has ended.
  void Free(Process& process, uint32_t slot, Lane& lane);
  // Of the records of a process, in its turn.
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
  const LiveLimits& limits_;
  SlotTable<YieldRecord> records_;
};

}  // namespace actord::runtime
