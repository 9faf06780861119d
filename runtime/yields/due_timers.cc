// performance-notes: Prefetch of due timers.
#include "runtime/yields/due_timers.h"

#include <algorithm>

#include "runtime/system/assert.h"

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
    if (!IsOfYield(KindOfTimer(timer))) continue;
    broker_.PrefetchRecord(HandleOfTimer(timer));
  }
  for (const uint64_t timer : due_) {
    if (!IsOfYield(KindOfTimer(timer))) continue;
    broker_.PrefetchProcess(HandleOfTimer(timer));
  }
  ReadyList ready;
  for (const uint64_t timer : due_) {
    FireOne(timer, lane, ready);
  }
  scheduler_.CountFired(ready.count);
  fired_ += ready.count;
  scheduler_.EnqueueDue(ready, lane.here(), now);
  return !due_.empty() || owner.timers.EarliestNs() <= now;
}

void DueTimers::FireOne(uint64_t timer, Lane& lane, ReadyList& ready) {
  const uint64_t handle = HandleOfTimer(timer);
  switch (KindOfTimer(timer)) {
    case TimerKind::kYieldResult:
      broker_.ResultDue(handle, lane, ready);
      return;
    case TimerKind::kYieldTimeout:
      broker_.TimeoutDue(handle, lane, ready);
      return;
    case TimerKind::kLifetime:
      lifetimes_.LifetimeDue(handle, lane, ready);
      return;
    case TimerKind::kCancelDeadline:
      lifetimes_.CancelDeadlineDue(handle, lane, ready);
      return;
  }
  ACTORD_ASSERT(false, "timer_kind.h: the timer has a kind");
}

bool DueTimers::IsWanted(const YieldBroker& broker, const Lifetimes& lifetimes,
                         uint64_t timer) {
  const uint64_t handle = HandleOfTimer(timer);
  switch (KindOfTimer(timer)) {
    case TimerKind::kYieldResult:
    case TimerKind::kYieldTimeout:
      return broker.IsPending(handle);
    case TimerKind::kLifetime:
    case TimerKind::kCancelDeadline:
      return lifetimes.IsWanted(handle);
  }
  ACTORD_ASSERT(false, "timer_kind.h: the timer has a kind");
  return true;
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
