#include "runtime/yields/due_timers.h"

#include <algorithm>

namespace actord::runtime {

static_assert(SchedulerPolicy::kTimersAtOnce <= ReadyList::kCapacity,
              "the list has room for all that one Advance hands out");

DueTimers::DueTimers(Scheduler& scheduler, YieldBroker& broker,
                     Lifetimes& lifetimes)
    : scheduler_(scheduler), broker_(broker), lifetimes_(lifetimes) {
  due_.reserve(Policy::kTimersAtOnce);
}

bool DueTimers::Fire(WorkerQueue& owner, Lane& lane, size_t max) {
  const uint64_t earliest = owner.timers.EarliestNs();
  if (earliest == TimerWheel::kNever) return false;
  const uint64_t now = scheduler_.clock().MonotonicNs();
  if (earliest > now) return false;
  if (now - earliest >= Policy::kTimerLateNs) max = Policy::kTimersAtOnce;
  due_.clear();
  owner.timers.Advance(now, std::min(max, Policy::kTimersAtOnce), due_);
  for (const uint64_t timer : due_) {
    if (!Lifetimes::IsOne(timer)) broker_.PrefetchRecord(timer);
  }
  for (const uint64_t timer : due_) {
    if (!Lifetimes::IsOne(timer)) broker_.PrefetchProcess(timer);
  }
  ReadyList ready;
  for (const uint64_t timer : due_) {
    if (Lifetimes::IsOne(timer)) {
      lifetimes_.Fired(timer, lane, ready);
    } else {
      broker_.TimerFired(timer, lane, ready);
    }
  }
  scheduler_.CountFired(ready.count);
  fired_ += ready.count;
  scheduler_.EnqueueDue(ready, lane.here(), now);
  return !due_.empty() || owner.timers.EarliestNs() <= now;
}

bool DueTimers::FireAny(Lane& lane) {
  const size_t workers = scheduler_.size();
  for (size_t i = 0; i < workers; ++i) {
    const size_t index = (first_ + i) % workers;
    if (!Fire(scheduler_.queue(index), lane)) continue;
    first_ = index + 1;
    return true;
  }
  return false;
}

}  // namespace actord::runtime
