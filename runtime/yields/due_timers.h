// Fires the due timers of the wheels: their processes become ready.
//
// Thread-safety: one thread at a time. Other DueTimers may fire timers of the
// same wheels at the same moment; each timer is fired once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/yields/lifetimes.h"
#include "runtime/yields/timer_kind.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

class DueTimers {
 public:
  DueTimers(Scheduler& scheduler, YieldBroker& broker, Lifetimes& lifetimes);

  using Policy = SchedulerPolicy;

  // Fires the due timers of `owner`: at most `max`, or at most
  // Policy::kTimersAtOnce if they are late (Policy::kTimerLateNs). True: a
  // timer was due, or more may be due.
  bool Fire(WorkerQueue& owner, Lane& lane, size_t max = Policy::kTimersAtOnce);
  // Fires timers of the next worker that has due timers, in rotation. False: no
  // worker has any.
  bool FireAny(Lane& lane);
  // True: the timer is still wanted (TimerWheel::IsWanted).
  static bool IsWanted(const YieldBroker& broker, const Lifetimes& lifetimes,
                       uint64_t timer);
  // The number of timers that this object has fired and that made a process
  // ready.
  [[nodiscard]] uint64_t fired() const { return fired_; }

 private:
  void FireOne(uint64_t timer, Lane& lane, ReadyList& ready);

  Scheduler& scheduler_;
  YieldBroker& broker_;
  Lifetimes& lifetimes_;
  std::vector<uint64_t> due_;
  uint64_t fired_ = 0;
  // The worker at which FireAny begins.
  size_t first_ = 0;
};

}  // namespace actord::runtime
