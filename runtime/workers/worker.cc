// performance-notes: Rare code moved out.
#include "runtime/workers/worker.h"

#include <algorithm>
#include <utility>

#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

Worker::Worker(Scheduler& scheduler, WorkerQueue& queue, YieldBroker& broker,
               Lifetimes& lifetimes, uint64_t seed, bool samples_turns)
    : scheduler_(scheduler),
      queue_(queue),
      due_(scheduler, broker, lifetimes),
      random_(seed) {
  if (samples_turns) PlanSample();
  PlanSpecialTurn();
}

Worker::Did Worker::RunOne(ProcessRunner& runner) {
  ++turn_;
  if (turn_ == special_turn_) [[unlikely]] {
    return RunSpecial(runner);
  }
  Process* const process = FindWork(First::kOwn, runner.lane());
  if (process == nullptr) return NothingFound();
  BeginTurn(*process);
  // RunTurn comes last: afterwards another thread may hold this worker.
  runner.RunTurn(*process);
  return Did::kRan;
}

Worker::Did Worker::RunSpecial(ProcessRunner& runner) {
  const bool is_sampled = turn_ == sampled_turn_;
  if (is_sampled) PlanSample();
  Process* const process = FindSpecial(runner.lane());
  if (process == nullptr) return NothingFound();
  BeginTurn(*process);
  if (is_sampled) {
    RunSampled(scheduler_.clock(), runner, *process);
  } else {
    runner.RunTurn(*process);
  }
  return Did::kRan;
}

void Worker::RunSampled(const Clock& clock, ProcessRunner& runner,
                        Process& process) {
  // Read now, because the process may end. A type never ends.
  const ProcessType* const type = process.type.load(std::memory_order_relaxed);
  const uint16_t number =
      type == nullptr ? TurnTimes::kOther : type->name_number;
  const uint64_t begun_ns = clock.MonotonicNs();
  runner.RunTurn(process);
  runner.lane().turn_times->Add(number, clock.MonotonicNs() - begun_ns);
}

inline void Worker::BeginTurn(const Process& process) {
  fruitless_ = 0;
  woken_ = false;
  if (searching_) {
    searching_ = false;
    // The last searcher wakes another worker if there is more work. A thread
    // that added work and woke no worker, because this worker searched, did so
    // before EndSearch. So HasWorkToTell finds that work (idle_workers.h (3)).
    if (scheduler_.idle().EndSearch() && scheduler_.HasWorkToTell(queue_)) {
      scheduler_.WakeForWork();
    }
  }
  scheduler_.BeginTurn(queue_);
  ACTORD_ASSERT_HOT(
      Activity::Runnable(process.activity.load()) && !process.running.load(),
      "activity.h (1)");
  ACTORD_ASSERT_HOT(Activity::IsPlausible(process.activity.load()),
                    "activity.h (2)");
}

Process* Worker::FindSpecial(Lane& lane) {
  First first = First::kOwn;
  // This turn is not counted yet, because it may find no process.
  PublishTurns(turn_ - 1);
  PlanSpecialTurn();
  const uint64_t in_round = turn_ % Policy::kRoundTurns;
  if (turn_ % Policy::kBackPeriodTurns == Policy::kBackFirstTurn) {
    first = First::kBack;
  }
  if (in_round == Policy::kGlobalFirstTurn) first = First::kGlobal;
  if (turn_ % Policy::kTurnsPerTimerCheck == 0) {
    due_.Fire(queue_, lane, Policy::kTimersBesideWork);
  }
  if (first == First::kGlobal) {
    due_.Fire(scheduler_.queue(random_.Next() % scheduler_.size()), lane,
              Policy::kTimersBesideWork);
  }
  if (in_round == Policy::kAgeingTurn) {
    if (Process* process = TakeLow()) return process;
  }
  return FindWork(first, lane);
}

inline Process* Worker::FindWork(First first, Lane& lane) {
  if (Process* process = TakeReady(first)) return process;
  return FireOrSearch(lane);
}

Process* Worker::FireOrSearch(Lane& lane) {
  Scheduler::EndQuiet(queue_);
  while (due_.Fire(queue_, lane)) {
    if (Process* process = TakeReady(First::kOwn)) return process;
  }
  return Search(lane);
}

void Worker::PlanSpecialTurn() {
  const auto after = [this](uint64_t every, uint64_t at) {
    return turn_ + every - (turn_ + every - at) % every;
  };
  special_turn_ = std::min(
      {after(Policy::kTurnsPerTimerCheck, 0),
       after(Policy::kRoundTurns, Policy::kGlobalFirstTurn),
       after(Policy::kRoundTurns, Policy::kAgeingTurn),
       after(Policy::kBackPeriodTurns, Policy::kBackFirstTurn), sampled_turn_});
}

void Worker::PlanSample() {
  // From 1 to twice the mean. The multiplier is that of Fibonacci hashing. (Not
  // random_: sampling must not change the other decisions of a worker.)
  constexpr uint64_t kGoldenRatio = 0x9E37'79B9'7F4A'7C15;
  constexpr int kShift = 57;
  static_assert(uint64_t{1} << (64 - kShift) == 2 * TurnTimes::kTurnsPerSample);
  sampled_turn_ = turn_ + 1 + (turn_ * kGoldenRatio >> kShift);
}

Process* Worker::TakeBest(uint32_t levels, First first) {
  if (scheduler_.IsFair()) [[unlikely]] {
    global_first_ = !global_first_;
    if (global_first_ && first == First::kOwn) first = First::kGlobal;
  }
  Process* const process = TakeHighest(levels, first);
  if (process == nullptr) return nullptr;
  // No worker would run `next` during this turn, and perhaps the turns after
  // it.
  if (queue_.next != nullptr && queue_.next->Priority() < process->Priority())
      [[unlikely]] {
    scheduler_.ShowNext(queue_);
  }
  return process;
}

Process* Worker::TakeHighest(uint32_t levels, First first) {
  while (levels != 0) {
    const int level = HighestLevel(levels);
    const int from = first == First::kGlobal ? level : level + 1;
    if (Process* process = scheduler_.TakeGlobal(queue_, LevelsFrom(from))) {
      return process;
    }
    if (first == First::kBack) {
      if (Process* process = queue_.ready.PopBack(level)) return process;
    }
    if (Process* process = TakeLocal(level)) return process;
    if (Process* process = scheduler_.TakeGlobal(queue_, LevelBit(level))) {
      return process;
    }
    if (Process* process = TakeBack(level)) return process;
    queue_.ready.FoundEmpty(level);
    levels &= ~LevelBit(level);
  }
  return scheduler_.TakeGlobal(queue_);
}

Process* Worker::TakeBack(int level) {
  if (backs_ == Policy::kBackTurnsPerCheck) {
    backs_ = 0;
    Process* const stolen = scheduler_.StealReady(queue_, level, random_);
    if (stolen != nullptr) return stolen;
  }
  Process* const process = queue_.ready.PopBack(level);
  if (process != nullptr) ++backs_;
  return process;
}

Process* Worker::TakeLocal(int level) {
  Process* next = queue_.next;
  if (next != nullptr && next->Priority() == level) {
    queue_.next = nullptr;
    return NextOrOldest(next, level);
  }
  return TurnOfNewest(level) ? queue_.ready.PopNewest(level)
                             : queue_.ready.PopOldest(level);
}

Process* Worker::OldestBefore(Process* next, int level) {
  Process* oldest = queue_.ready.PopOldest(level);
  if (oldest == nullptr) return next;
  queue_.next = next;
  return oldest;
}

Process* Worker::TakeLow() {
  uint32_t levels = queue_.ready.NonEmptyFromTop() | scheduler_.GlobalLevels();
  // `next` has just become ready; the next turn runs it or puts it into its
  // level.
  if (queue_.next != nullptr) levels |= LevelBit(queue_.next->Priority());
  // The best level has the other turns.
  if (levels != 0) levels &= ~LevelBit(HighestLevel(levels));
  while (levels != 0) {
    const uint32_t above = levels & LevelsFrom(aged_level_ + 1);
    const int level = LowestLevel(above != 0 ? above : levels);
    if (Process* process = TakeAged(level)) {
      aged_level_ = level;
      return process;
    }
    levels &= ~LevelBit(level);
  }
  return nullptr;
}

Process* Worker::TakeAged(int level) {
  constexpr int kSources = 3;
  uint8_t& source = aged_source_[static_cast<size_t>(level)];
  for (int tries = 0; tries < kSources; ++tries) {
    source = static_cast<uint8_t>((source + 1) % kSources);
    Process* const process =
        source == 0   ? queue_.ready.PopOldest(level)
        : source == 1 ? scheduler_.TakeGlobal(queue_, LevelBit(level), 1)
                      : queue_.ready.PopBack(level);
    if (process != nullptr) return process;
  }
  return nullptr;
}

Process* Worker::Search(Lane& lane) {
  if (!searching_) {
    searching_ = scheduler_.idle().TryBeginSearch();
    if (!searching_) return nullptr;
  }
  // The worker may have been woken for a late timer (watchdog.h).
  if (woken_ && due_.FireAny(lane)) return TakeReady(First::kOwn);
  if (Process* process = scheduler_.Steal(queue_, random_)) return process;
  return due_.FireAny(lane) ? TakeReady(First::kOwn) : nullptr;
}

Worker::Did Worker::NothingFound() {
  queue_.firing_since_ns = 0;
  ++fruitless_;
  ++empty_turns_;
  PublishTurns(turn_);
  // True if at least half of the turns since this worker last found nothing
  // were for timers. The next timer will wake a worker.
  const uint64_t turns = turn_ - std::exchange(dry_turn_, turn_) - 1;
  const uint64_t fired = due_.fired() - std::exchange(dry_fired_, due_.fired());
  const bool did_timers = fired != 0 && 2 * fired >= turns;
  // A worker does not spin if it was woken and found nothing, if there is no
  // other worker to steal from, or if its work was timers.
  const bool hope =
      searching_ && !woken_ && !did_timers && scheduler_.size() > 1;
  if (hope && fruitless_ < Policy::kSearches) {
    return fruitless_ < Policy::kTightSearches ? Did::kSearch : Did::kYield;
  }
  return TrySleep();
}

Worker::Did Worker::TrySleep() {
  fruitless_ = 0;
  // The order is IdleWorkers (3): become a sleeper, stop searching, check for
  // work once more. If other workers search, they make the last check.
  IdleWorkers& idle = scheduler_.idle();
  ACTORD_ASSERT(queue_.next == nullptr,
                "scheduler.h: a turn takes the next process");
  ACTORD_ASSERT(!queue_.is_quiet || queue_.ready.NonEmptyFromTop() == 0,
                "idle_workers.h (5)");
  FailPoint();
  idle.BeginSleep(queue_.index);
  FailPoint();
  const bool was_searching = std::exchange(searching_, false);
  if (was_searching) idle.EndSearch();
  FailPoint();
  sleep_ns_ = scheduler_.BeginSleepUntilTimer(is_timekeeper_);
  const bool look = was_searching || idle.searchers() == 0;
  if (sleep_ns_ != 0 && !(look && scheduler_.HasWork())) return Did::kSleep;
  // There is work after all, or a timer is due.
  if (EndSleep(false)) {
    idle.BeginSearch();
    searching_ = true;
    return Did::kSearch;
  }
  return Did::kSleep;  // a thread claimed this worker, and notifies it
}

bool Worker::Wake(bool notified) {
  if (!EndSleep(notified)) return false;
  queue_.counted.wake_ups.Add();
  return true;
}

void Worker::PublishTurns(uint64_t begun) {
  Counter& turns = queue_.counted.turns;
  turns.Add(begun - empty_turns_ - turns.Get());
}

bool Worker::EndSleep(bool notified) {
  if (!notified && !scheduler_.idle().EndSleep(queue_.index)) {
    sleep_ns_ = Parker::kForever;
    return false;
  }
  if (std::exchange(is_timekeeper_, false)) scheduler_.EndSleepUntilTimer();
  // The notifying thread has counted this worker as a searcher.
  searching_ = notified;
  woken_ = notified;
  return true;
}

}  // namespace actord::runtime
