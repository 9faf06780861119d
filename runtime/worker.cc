#include "runtime/worker.h"

#include <utility>

#include "runtime/fail_point.h"

namespace actord::runtime {

Worker::Worker(Scheduler& scheduler, WorkerQueue& queue, YieldBroker& broker,
               uint64_t seed)
    : scheduler_(scheduler), queue_(queue), broker_(broker), random_(seed) {
  due_.reserve(kTimersAtOnce);
}

Worker::Did Worker::RunOne(ProcessRunner& runner) {
  ++turn_;
  Process* process = FindWork(runner.lane());
  if (process == nullptr) return NothingFound();
  fruitless_ = 0;
  woken_ = false;
  if (searching_) {
    searching_ = false;
    // The last searcher hands its place on, if there is more where this came
    // from. Whoever added work and woke nobody, because this worker searched,
    // did so before EndSearch, so this look finds it (idle_workers.h (3)).
    if (scheduler_.idle().EndSearch() && scheduler_.HasWork()) {
      scheduler_.WakeForWork();
    }
  }
  // This step may last: somebody else has to keep the time meanwhile.
  if (std::exchange(was_timekeeper_, false)) scheduler_.HandOverTime();
  // The last thing of all: the worker may be another thread's afterwards.
  runner.RunTurn(*process);
  return Did::kRan;
}

Process* Worker::FindWork(Lane& lane) {
  if (turn_ % kGlobalFirst == 0) {
    FireTimers(queue_, lane);
    FireTimers(scheduler_.queue(random_.Next() % scheduler_.size()), lane);
    if (Process* process = scheduler_.TakeGlobal(queue_)) return process;
  } else if (turn_ % kTimersEvery == 0) {
    FireTimers(queue_, lane);
  }
  if (Process* process = TakeLocal()) return process;
  if (Process* process = scheduler_.TakeGlobal(queue_)) return process;
  if (FireTimers(queue_, lane)) {
    if (Process* process = TakeLocal()) return process;
  }
  return Search(lane);
}

Process* Worker::TakeLocal() {
  Process* next = std::exchange(queue_.next, nullptr);
  if (newest_in_a_row_ < kNewestInARow) {
    ++newest_in_a_row_;
    return next != nullptr ? next : queue_.ready.PopNewest();
  }
  newest_in_a_row_ = 0;
  if (next == nullptr) return queue_.ready.PopOldest();
  Process* oldest = queue_.ready.PopOldest();
  if (oldest == nullptr) return next;
  queue_.next = next;
  return oldest;
}

Process* Worker::Search(Lane& lane) {
  if (!searching_) {
    searching_ = scheduler_.idle().TryBeginSearch();
    if (!searching_) return nullptr;
  }
  if (Process* process = scheduler_.Steal(queue_, random_)) return process;
  for (size_t i = 0; i < scheduler_.size(); ++i) {
    if (FireTimers(scheduler_.queue(i), lane)) return TakeLocal();
  }
  return nullptr;
}

Worker::Did Worker::NothingFound() {
  ++fruitless_;
  // No hope, no spinning: whoever was woken and found nothing, and whoever has
  // nobody to steal from.
  const bool hope = searching_ && !woken_ && scheduler_.size() > 1;
  if (hope && fruitless_ < kSearches) {
    return fruitless_ < kTightSearches ? Did::kSearch : Did::kYield;
  }
  return TrySleep();
}

Worker::Did Worker::TrySleep() {
  fruitless_ = 0;
  // The order is IdleWorkers (3): sleeper, no searcher, one more look. The look
  // is left to the others that search, if there are any.
  IdleWorkers& idle = scheduler_.idle();
  FailPoint();
  idle.BeginSleep(queue_.index);
  FailPoint();
  const bool was_searching = std::exchange(searching_, false);
  if (was_searching) idle.EndSearch();
  FailPoint();
  sleep_ns_ = scheduler_.BeginSleepUntilTimer(is_timekeeper_);
  was_timekeeper_ = false;
  const bool look = was_searching || idle.searchers() == 0;
  if (sleep_ns_ != 0 && !(look && scheduler_.HasWork())) return Did::kSleep;
  // There is something after all.
  if (Wake(false)) {
    idle.BeginSearch();
    searching_ = true;
    return Did::kSearch;
  }
  return Did::kSleep;  // somebody has claimed this worker: it is notified now
}

bool Worker::Wake(bool notified) {
  if (!notified && !scheduler_.idle().EndSleep(queue_.index)) {
    sleep_ns_ = Parker::kForever;
    return false;
  }
  if (std::exchange(is_timekeeper_, false)) {
    scheduler_.EndSleepUntilTimer();
    was_timekeeper_ = true;
  }
  // Whoever notified counted this worker as a searcher.
  searching_ = notified;
  woken_ = notified;
  return true;
}

bool Worker::FireTimers(WorkerQueue& owner, Lane& lane) {
  const uint64_t earliest = owner.timers.EarliestNs();
  if (earliest == TimerWheel::kNever) return false;
  const uint64_t now = scheduler_.clock().MonotonicNs();
  if (earliest > now) return false;
  due_.clear();
  owner.timers.Advance(now, kTimersAtOnce, due_);
  for (const uint64_t handle : due_) broker_.TimerFired(handle, lane);
  return !due_.empty();
}

}  // namespace actord::runtime
