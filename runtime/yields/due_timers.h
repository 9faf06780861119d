// Fires the timers of the wheels that are due: what they are for becomes ready.
//
// Thread-safety: one thread at a time; others may fire timers of the same
// wheels at the same moment, each timer is fired once.
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

  // Fires what is due in the wheel, at most Policy::kTimersAtOnce, or, while
  // that is not late, at most `max`. True: something was, or may be still.
  bool Fire(WorkerQueue& owner, Lane& lane, size_t max = Policy::kTimersAtOnce);
  // Of the next worker that has any due: each has its turn.
  bool FireAny(Lane& lane);
  // Whether somebody still waits for a timer (TimerWheel::IsWanted).
  static bool IsWanted(const YieldBroker& broker, const Lifetimes& lifetimes,
                       uint64_t timer);
  // How many this has fired.
  [[nodiscard]] uint64_t fired() const { return fired_; }

 private:
  void FireOne(uint64_t timer, Lane& lane, ReadyList& ready);

  Scheduler& scheduler_;
  YieldBroker& broker_;
  Lifetimes& lifetimes_;
  std::vector<uint64_t> due_;
  uint64_t fired_ = 0;
  size_t first_ = 0;  // where FireAny looks first
};

}  // namespace actord::runtime
