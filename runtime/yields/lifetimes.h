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
  // Whether a timer, as a wheel hands it out, is one of these. Those of yields
  // do not have this bit.
  static bool IsOne(uint64_t timer) { return (timer & kLifetime) != 0; }
  // Its process has not ended (TimerWheel::IsWanted).
  [[nodiscard]] bool IsWanted(uint64_t timer) const {
    // Relaxed: the wheel's lock orders it behind Begin; an end may be seen
    // late, and whoever then sends it an event hits nobody else's generation.
    return ProcessOf(timer).generation.load(std::memory_order_relaxed) ==
           static_cast<uint32_t>(timer >> 32);
  }
  // It is due. What becomes runnable goes into `ready`, which has room for it.
  void Fired(uint64_t timer, Lane& lane, ReadyList& ready);

 private:
  static constexpr uint64_t kLifetime = uint64_t{1} << 31;
  static_assert(SlotTable<Process>::kMaxSlots <= kLifetime);
  [[nodiscard]] Process& ProcessOf(uint64_t timer) const {
    return processes_.At(static_cast<uint32_t>(timer & (kLifetime - 1)));
  }

  const ProcessTable& processes_;
  Scheduler& scheduler_;
  Delivery& delivery_;
  const Clock& clock_;
};

}  // namespace actord::runtime
