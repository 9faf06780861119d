// performance-notes: Rare code moved out, State in the process.
#include "runtime/scheduler/scheduler.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <utility>

#include "runtime/counters/stats.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

Scheduler::Scheduler(int workers, const Clock& clock)
    : clock_(clock), idle_(workers) {
  for (int i = 0; i < workers; ++i) {
    queues_.push_back(std::make_unique<WorkerQueue>(i, clock.MonotonicNs()));
  }
}

void Scheduler::EnqueueBeside(Process* process, WorkerQueue* here) {
  if (here == nullptr) {
    EnqueueBack(process);
    return;
  }
  WillWrite(&here->next);
  // The newest process of the higher priority runs next; the other one becomes
  // visible.
  if (process->Priority() >= here->next->Priority()) {
    std::swap(process, here->next);
  }
  PushLocal(process, *here);
}

void Scheduler::EnqueueBack(Process* process) {
  global_.Push(process);
  WakeForWork();
}

void Scheduler::EnqueueAll(ReadyList& list) {
  const std::span<Process* const> all(list.processes.data(), list.count);
  for (size_t begin = 0; begin < all.size();) {
    const int level = all[begin]->Priority();
    size_t end = begin + 1;
    while (end < all.size() && all[end]->Priority() == level) ++end;
    global_.PushAll(level, all.subspan(begin, end - begin));
    begin = end;
  }
  // The woken worker wakes the next sleeper if there is more work than it
  // takes.
  if (!all.empty()) WakeForWork();
  list.count = 0;
}

void Scheduler::EnqueueTogether(ReadyList& list, WorkerQueue* here) {
  if (here == nullptr) {
    EnqueueAll(list);
  } else if (ShowTogether(list, *here)) {
    WakeForAll(*here);
  }
}

void Scheduler::EnqueueDue(ReadyList& list, WorkerQueue* here,
                           uint64_t now_ns) {
  if (here == nullptr) {
    EnqueueAll(list);
    return;
  }
  if (list.count == 0) return;
  if (here->firing_since_ns == 0) here->firing_since_ns = now_ns;
  if (!ShowTogether(list, *here)) return;
  if (now_ns - here->firing_since_ns >= Policy::kAloneNs) {
    WakeForAll(*here);
  } else {
    here->is_quiet = true;
    here->turns_since_due = 1;
  }
}

bool Scheduler::ShowTogether(ReadyList& list, WorkerQueue& here) {
  const std::span<Process*> all(list.processes.data(),
                                std::exchange(list.count, 0));
  if (all.empty()) return false;
  const int level = all.front()->Priority();
  const auto is_of_level = [level](const Process* process) {
    return process == nullptr || process->Priority() == level;
  };
  if (!is_of_level(here.next) ||
      !std::all_of(all.begin(), all.end(), is_of_level)) {
    for (Process* process : all) Enqueue(process, &here);
    return false;
  }
  // The newest of the list runs next, and the process that was to run next goes
  // before the rest of the list: each process moves up one place.
  WillWrite(&here.next);
  for (Process*& process : all) std::swap(process, here.next);
  const std::span<Process* const> shown =
      all.front() == nullptr ? all.subspan(1) : all;
  if (shown.empty()) return false;
  if (here.ready.PushAll(shown, level)) [[likely]] {
    return true;
  }
  for (Process* process : shown) PushLocal(process, here);
  return false;
}

void Scheduler::EnqueueBehind(Process* process, WorkerQueue* here) {
  if (here == nullptr) {
    EnqueueBack(process);
    return;
  }
  const int level = process->Priority();
  const bool alone = here->next == nullptr && global_.levels() == 0 &&
                     here->ready.NonEmptyFromTop() == 0;
  // One overflow is enough: no other thread adds to the back, and thieves only
  // make more room.
  while (!here->ready.PushBack(process, level)) [[unlikely]] {
      OverflowBack(*here, level);
    }
  if (alone) {
    EndQuiet(*here);
    here->is_quiet = true;
  } else {
    WakeForAll(*here);
  }
}

void Scheduler::MayWake(WorkerQueue& here) {
  const bool any = here.ready.NonEmptyFromTop() != 0;
  if (any && here.turns_since_due != 0) {
    ACTORD_ASSERT_HOT(here.firing_since_ns != 0, "scheduler.h (3)");
    const uint32_t turns = here.turns_since_due++;
    if (turns % Policy::kTurnsPerClock != 2 ||
        clock_.MonotonicNs() - here.firing_since_ns < Policy::kAloneNs) {
      return;
    }
  }
  EndQuiet(here);
  if (any) WakeForWork();
}

void Scheduler::EnqueueAgain(Process* process, WorkerQueue* here) {
  // If owners take turns, this process has had its turn.
  if (here == nullptr || global_.IsFair()) {
    EnqueueBack(process);
  } else if (here->next == nullptr) {
    here->next = process;
  } else {
    if (process->Priority() > here->next->Priority()) {
      std::swap(process, here->next);
    }
    PushLocal(process, *here);
  }
}

void Scheduler::PushLocal(Process* process, WorkerQueue& here) {
  PushOrOverflow(process, here, process->Priority());
  WakeForAll(here);
}

void Scheduler::PushOrOverflow(Process* process, WorkerQueue& here, int level) {
  // One overflow is enough: no other thread adds to the level, and thieves only
  // make more room.
  while (!here.ready.Push(process, level)) [[unlikely]] {
      Overflow(here, level);
    }
}

void Scheduler::Overflow(WorkerQueue& here, int level) {
  // Only this level can make room for its own processes. This worker would run
  // the oldest half of the level last. In the global queue every worker that
  // has nothing of a higher level sees that half.
  ReadyQueues::Level::Batch oldest;
  const uint32_t count = here.ready.PopOldestHalf(level, oldest);
  // Thieves may have made room meanwhile.
  if (count != 0) global_.PushAll(level, {oldest.data(), count});
}

void Scheduler::OverflowBack(WorkerQueue& here, int level) {
  ReadyQueues::Level::Batch oldest;
  const uint32_t count = here.ready.PopBackHalf(level, oldest);
  if (count != 0) global_.PushAll(level, {oldest.data(), count});
}

Process* Scheduler::TakeGlobalNow(WorkerQueue& here, uint32_t among,
                                  size_t most) {
  std::array<Process*, Policy::kGlobalBatch> taken;
  while (const uint32_t levels = global_.levels() & among) {
    const int level = HighestLevel(levels);
    // A level that has ready processes here needs no whole batch: the batch
    // would push processes out again, into other workers' caches.
    const size_t local = here.ready.Size(level);
    const size_t wanted = std::min(
        most, local < Policy::kGlobalBatch ? Policy::kGlobalBatch - local : 1);
    const size_t count =
        global_.Take(level, std::span(taken).first(wanted), queues_.size());
    if (count == 0) continue;  // other workers were faster: the bit is clear
    taken[0]->Prefetch();
    for (size_t i = 1; i < count; ++i) {
      taken[i]->Prefetch();
      PushOrOverflow(taken[i], here, level);
    }
    // On their way from one queue to the other, no other thread saw these
    // processes, and a worker that looked then may sleep now.
    if (count > 1) WakeForAll(here);
    return taken[0];
  }
  return nullptr;
}

void Scheduler::AddTo(RuntimeStats& stats) const {
  for (const auto& queue : queues_) {
    const WorkerCounters& counted = queue->counted;
    stats.of_workers.push_back({.turns = counted.turns.Get(),
                                .steals = counted.steals.Get(),
                                .wake_ups = counted.wake_ups.Get(),
                                .hand_overs = counted.hand_overs.Get(),
                                .ready = queue->ready.SizeOf()});
  }
  stats.ready_global = global_.size();
}

Process* Scheduler::Steal(WorkerQueue& here, Random& random) {
  ACTORD_ASSERT_HOT(!here.is_quiet, "scheduler.h (4)");
  ACTORD_ASSERT_HOT(here.next == nullptr && here.ready.SizeOf() == 0,
                    "scheduler.h: nothing is ready here");
  const size_t workers = queues_.size();
  const uint64_t bits = random.Next();
  size_t victim = (bits & UINT32_MAX) % workers;
  // A stride that is coprime to the number of workers visits each worker once.
  // Coprime numbers below `workers` are dense: a few steps find one.
  size_t stride = 1 + (bits >> 32) % workers;
  while (std::gcd(stride, workers) != 1) stride = 1 + stride % workers;
  for (size_t i = 0; i < workers; ++i, victim = (victim + stride) % workers) {
    if (victim == static_cast<size_t>(here.index)) continue;
    if (Process* process = here.ready.StealFrom(queues_[victim]->ready)) {
      here.counted.steals.Add();
      return process;
    }
  }
  return nullptr;
}

Process* Scheduler::StealReady(WorkerQueue& here, int level, Random& random) {
  ACTORD_ASSERT_HOT(here.ready.Size(level) == 0,
                    "scheduler.h: the level has no ready process here");
  const size_t workers = queues_.size();
  if (workers == 1) return nullptr;
  const size_t away = 1 + random.Next() % (workers - 1);
  const size_t victim = (static_cast<size_t>(here.index) + away) % workers;
  Process* const process = here.ready.StealReady(queues_[victim]->ready, level);
  if (process == nullptr) return nullptr;
  here.counted.steals.Add();
  // No other thread saw these processes on their way, as in TakeGlobalNow.
  WakeForAll(here);
  return process;
}

void Scheduler::TimerAdded(uint64_t deadline_ns) {
  // The caller has added the timer already. A worker first becomes a sleeper
  // and then checks the timers, so one of the two sees the other
  // (idle_workers.h (3)).
  if (idle_.AllSleep() &&
      deadline_ns < timekeeper_ns_.load(std::memory_order_seq_cst)) {
    WakeForWork();
  }
}

uint64_t Scheduler::EarliestTimerNs() const {
  uint64_t earliest = TimerWheel::kNever;
  for (const auto& queue : queues_) {
    earliest = std::min(earliest, queue->timers.EarliestNs());
  }
  return earliest;
}

void Scheduler::WakeForWork() {
  const int worker = idle_.ClaimForWork();
  if (worker != IdleWorkers::kNobody) {
    queues_[static_cast<size_t>(worker)]->parker.Notify();
  }
}

bool Scheduler::HasWork() const {
  return global_.levels() != 0 ||
         std::any_of(queues_.begin(), queues_.end(), [](const auto& queue) {
           return queue->ready.NonEmptyFromTop() != 0;
         });
}

bool Scheduler::HasWorkToTell(const WorkerQueue& here) const {
  return global_.levels() != 0 ||
         std::any_of(queues_.begin(), queues_.end(), [&](const auto& queue) {
           return queue->ready.NonEmptyFromTop() != 0 &&
                  !(queue.get() == &here && here.is_quiet);
         });
}

uint64_t Scheduler::BeginSleepUntilTimer(bool& is_timekeeper) {
  is_timekeeper = false;
  const uint64_t earliest = EarliestTimerNs();
  if (earliest == TimerWheel::kNever) return Parker::kForever;
  uint64_t current = timekeeper_ns_.load(std::memory_order_seq_cst);
  do {
    if (current <= earliest) return Parker::kForever;
  } while (!timekeeper_ns_.compare_exchange_weak(current, earliest,
                                                 std::memory_order_seq_cst));
  is_timekeeper = true;
  const uint64_t fired = fired_.load(std::memory_order_relaxed);
  fired_.store(fired / 2, std::memory_order_relaxed);
  const uint64_t rest_ns =
      std::min(fired * Policy::kRestPerTimerNs, Policy::kLongestRestNs);
  const uint64_t now = clock_.MonotonicNs();
  if (earliest <= now) return 0;
  return std::clamp(earliest - now, rest_ns, Policy::kLongestSleepNs);
}

void Scheduler::EndSleepUntilTimer() {
  timekeeper_ns_.store(TimerWheel::kNever, std::memory_order_seq_cst);
}

}  // namespace actord::runtime
