// Ends processes that have reached their maximum lifetime
// (Limits::max_lifetime), by a timer in the wheel of the worker on which they
// began. Also terminates processes that did not end within the deadline of a
// cancel. If a process ends earlier, its timer is forgotten, or ignored when it
// fires.
//
// Thread-safety: Begin belongs to the turn of the process; any thread may call
// the other functions.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "runtime/delivery/delivery.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/system/mutex.h"
#include "runtime/table/process_table.h"
#include "runtime/yields/timer_kind.h"

namespace actord::runtime {

class Lifetimes {
 public:
  Lifetimes(const ProcessTable& processes, Scheduler& scheduler,
            Delivery& delivery, const Clock& clock)
      : processes_(processes),
        scheduler_(scheduler),
        delivery_(delivery),
        clock_(clock) {}
  Lifetimes(const Lifetimes&) = delete;
  Lifetimes& operator=(const Lifetimes&) = delete;

  // Limits the life of `process` to `lifetime_ns` from now on.
  void Begin(const Process& process, uint32_t generation, uint64_t lifetime_ns,
             Lane& lane);
  // Terminates the process after `deadline`, unless it has ended by then. An
  // earlier deadline that was set before stays in force. `deadline` is above
  // zero and is rounded up to milliseconds.
  void BeginCancel(const Pid& pid, absl::Duration deadline) {
    BeginCancel(pid, deadline, deadline);
  }
  // The same, for a cancel from before a restart. `named`: the original
  // deadline, for the error text.
  void BeginCancel(const Pid& pid, absl::Duration deadline,
                   absl::Duration named);
  // True: the process of a timer (TimerKind::kLifetime, kCancelDeadline) has
  // not ended.
  [[nodiscard]] bool IsWanted(uint64_t handle) const {
    // Relaxed: the wheel's lock orders this load behind Begin. An end may be
    // seen late; an event that is sent then reaches no other process, because
    // the generation differs.
    return ProcessOf(handle).generation.load(std::memory_order_relaxed) ==
           static_cast<uint32_t>(handle >> 32);
  }
  // To be called when a timer of this kind is due. A process that becomes
  // runnable goes into `ready`, which must have room for it.
  void LifetimeDue(uint64_t handle, Lane& lane, ReadyList& ready);
  void CancelDeadlineDue(uint64_t handle, Lane& lane, ReadyList& ready);

 private:
  // The deadline of the cancels of a process.
  struct CancelDeadline {
    uint32_t generation = 0;
    // True: the deadline has passed and the process was told to end. It is told
    // only once, however many cancels follow, so that Activity can count the
    // events that wait.
    bool is_over = false;
    uint64_t at_ns = UINT64_MAX;
    // The deadline that the cancel named, for the error text.
    int64_t after_ms = 0;
  };

  static_assert(SlotTable<Process>::kMaxSlots <= kTimerMaxSlots);
  [[nodiscard]] Process& ProcessOf(uint64_t handle) const {
    return processes_.At(static_cast<uint32_t>(handle));
  }
  void Post(uint64_t handle, uint16_t type, std::string_view text, Lane& lane,
            ReadyList& ready);

  const ProcessTable& processes_;
  Scheduler& scheduler_;
  Delivery& delivery_;
  const Clock& clock_;

  Mutex mutex_;
  // Keyed by slot. The deadline of a process that has ended stays until the
  // next deadline for its slot, so there are at most as many entries as slots.
  absl::flat_hash_map<uint32_t, CancelDeadline> cancels_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
