// Ends processes that have lived as long as they may (Limits::max_lifetime), by
// a timer in the wheel of the worker on which they began. The timer of one that
// ends before is forgotten, or refused when it fires.
//
// Thread-safety: Begin belongs to the turn of the process; all else: any
// thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/inbox/delivery.h"
#include "runtime/process/process_table.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
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

  // Its life is limited to `lifetime_ns` from now on.
  void Begin(const Process& process, uint32_t generation, uint64_t lifetime_ns,
             Lane& lane);
  // The process of a timer (TimerKind::kLifetime) has not ended.
  [[nodiscard]] bool IsWanted(uint64_t handle) const {
    // Relaxed: the wheel's lock orders it behind Begin; an end may be seen
    // late, and whoever then sends it an event hits nobody else's generation.
    return ProcessOf(handle).generation.load(std::memory_order_relaxed) ==
           static_cast<uint32_t>(handle >> 32);
  }
  // Such a timer is due. What becomes runnable goes into `ready`, which has
  // room for it.
  void LifetimeDue(uint64_t handle, Lane& lane, ReadyList& ready);

 private:
  static_assert(SlotTable<Process>::kMaxSlots <= kTimerMaxSlots);
  [[nodiscard]] Process& ProcessOf(uint64_t handle) const {
    return processes_.At(static_cast<uint32_t>(handle));
  }

  const ProcessTable& processes_;
  Scheduler& scheduler_;
  Delivery& delivery_;
  const Clock& clock_;
};

}  // namespace actord::runtime
