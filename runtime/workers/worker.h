// A worker: finds a process that is ready and runs its next turn. No loop and
// no thread is in it; the thread that holds it repeats RunOne
// (worker_threads.h), and so can a test on a thread of its own choice.
//
// Thread-safety: one thread at a time, the one that holds it (hold.h).
// performance-notes: Rare code moved out, Inlined by force.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "runtime/process/priority.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/random.h"
#include "runtime/turn/process_runner.h"
#include "runtime/yields/due_timers.h"

namespace actord::runtime {

// In lines of its own: it writes to itself every turn.
class alignas(64) Worker {
 public:
  // What RunOne did, and so what the caller does before the next call.
  enum class Did {
    kRan,     // a turn: nothing
    kSearch,  // found nothing: spin for a moment
    kYield,   // found nothing for longer: let other threads run
    kSleep,   // is a sleeper now: Parker::Wait(sleep_ns()), then Wake()
  };

  Worker(Scheduler& scheduler, WorkerQueue& queue, YieldBroker& broker,
         Lifetimes& lifetimes, uint64_t seed);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // `runner`: of the thread that holds this worker. After kRan it may hold it
  // no more (Lane::here() is null then), and must leave it alone.
  Did RunOne(ProcessRunner& runner);

  // After kSleep: how long the worker may sleep without a notification.
  [[nodiscard]] uint64_t sleep_ns() const { return sleep_ns_; }
  // After kSleep: the sleep is over. False: not quite, a notification is on
  // its way; wait for it and call again with true.
  bool Wake(bool notified);

  WorkerQueue& queue() { return queue_; }
  // That it has begun, with those that found nothing. For whoever runs it.
  [[nodiscard]] uint64_t turns() const { return turn_; }

 private:
  using Policy = SchedulerPolicy;

  // Counts, of the turns that have begun, those that found a process.
  void PublishTurns(uint64_t begun);
  // Wake, of a sleep that may not have begun.
  bool EndSleep(bool notified);

  // Which of equals goes before the others; after it come the worker's own, the
  // global queue, and those that continue.
  enum class First { kOwn, kGlobal, kBack };

  Process* FindWork(Lane& lane);
  // Sets special_turn_ to the first after this turn.
  void PlanSpecialTurn();
  // The best of what is ready here and in the global queue; null: nothing is.
  [[gnu::always_inline]] Process* TakeReady(First first) {
    WillRead(&queue_.next);
    Process* const next = queue_.next;
    uint32_t levels = queue_.ready.levels();
    if (next != nullptr) {
      const int level = next->Priority();
      const uint32_t all = levels | scheduler_.GlobalLevels();
      if (all >> level <= 1 && first == First::kOwn) [[likely]] {
        queue_.next = nullptr;
        return NextOrOldest(next, level);
      }
      levels |= LevelBit(level);
    }
    return TakeBest(levels, first);
  }
  // Likewise, if it is not simply `next`. `levels`: of what is ready here.
  [[gnu::noinline]] Process* TakeBest(uint32_t levels, First first);
  // Likewise; `levels` are those that may have something here.
  Process* TakeHighest(uint32_t levels, First first);
  // From this level here, `next` included; null: it is empty.
  Process* TakeLocal(int level);
  // Of those that continue in this level; now and then what is ready on another
  // worker instead. Null: there is neither.
  Process* TakeBack(int level);
  // `next`, which is of this level, or the oldest of the level before it.
  Process* NextOrOldest(Process* next, int level) {
    return TurnOfNewest(level) ? next : OldestBefore(next, level);
  }
  // Likewise, if it is the turn of the oldest.
  [[gnu::noinline]] Process* OldestBefore(Process* next, int level);
  bool TurnOfNewest(int level) {
    uint8_t& in_a_row = newest_in_a_row_[static_cast<size_t>(level)];
    if (in_a_row == Policy::kNewestInARow) {
      in_a_row = 0;
      return false;
    }
    ++in_a_row;
    return true;
  }
  // From the levels below the best: the lowest first, and each next time the
  // next above, so that each of them moves. Null: nothing is below.
  Process* TakeLow();
  Process* TakeAged(int level);
  Process* Search(Lane& lane);
  Did NothingFound();
  Did TrySleep();

  Scheduler& scheduler_;
  WorkerQueue& queue_;
  DueTimers due_;
  Random random_;
  uint64_t turn_ = 0;
  uint64_t empty_turns_ = 0;  // those that found nothing
  // The next one that is not as all others; so they compare once.
  uint64_t special_turn_ = 0;
  // Of each level.
  std::array<uint8_t, kPriorities> newest_in_a_row_{};
  // The level that TakeLow served last.
  int aged_level_ = kPriorities - 1;
  // Of each level: from where TakeLow takes next.
  std::array<uint8_t, kPriorities> aged_source_{};
  // Turns of those that continue since it last looked.
  uint32_t backs_ = 0;
  bool searching_ = false;
  bool woken_ = false;  // has not found anything since it was woken
  // When it last found nothing, and how many timers it had fired by then.
  uint64_t dry_turn_ = 0;
  uint64_t dry_fired_ = 0;
  int fruitless_ = 0;
  bool is_timekeeper_ = false;
  uint64_t sleep_ns_ = 0;
};

}  // namespace actord::runtime
