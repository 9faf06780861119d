// A worker: finds a ready process and runs the process's next turn. A worker
// has no loop and no thread. The thread that holds the worker repeats RunOne
// (worker_threads.h); a test can do the same on any thread.
//
// Thread-safety: one thread at a time: the holder of the worker (hold.h).
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
#include "runtime/workers/process_runner.h"
#include "runtime/yields/due_timers.h"

namespace actord::runtime {

// A worker has its own cache lines, because it writes its fields in every turn.
class alignas(64) Worker {
 public:
  // The result of RunOne: what the caller must do before the next call.
  enum class Did {
    kRan,     // ran a turn: do nothing
    kSearch,  // found nothing: spin for a moment
    kYield,   // found nothing for longer: let other threads run
    kSleep,   // became a sleeper: Parker::Wait(sleep_ns()), then Wake()
  };

  // `samples_turns`: some turns are measured (TurnTimes of their lanes).
  Worker(Scheduler& scheduler, WorkerQueue& queue, YieldBroker& broker,
         Lifetimes& lifetimes, uint64_t seed, bool samples_turns);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // `runner` is the runner of the thread that holds this worker. After kRan the
  // thread may have lost the worker (Lane::here() is null then), and must not
  // touch it.
  Did RunOne(ProcessRunner& runner);

  // After kSleep: how long the worker may sleep without a notification.
  [[nodiscard]] uint64_t sleep_ns() const { return sleep_ns_; }
  // After kSleep: ends the sleep. False: a notification is on its way; wait for
  // the notification and call again with true.
  bool Wake(bool notified);

  WorkerQueue& queue() { return queue_; }
  // Number of turns that have begun, including turns that found no process. For
  // the thread that runs the worker.
  [[nodiscard]] uint64_t turns() const { return turn_; }

 private:
  using Policy = SchedulerPolicy;

  // Publishes how many of the turns that have begun found a process.
  void PublishTurns(uint64_t begun);
  // Wake for a sleep that may not have begun.
  bool EndSleep(bool notified);

  // Which processes of the best level go first. The others follow in the order:
  // the worker's own, the global queue, and processes that continue.
  enum class First { kOwn, kGlobal, kBack };

  // RunOne for a turn with a special rule.
  [[gnu::noinline]] Did RunSpecial(ProcessRunner& runner);
  // Work for a turn with a special rule.
  Process* FindSpecial(Lane& lane);
  // Work for any turn. (Inlined: see RunOne.)
  [[gnu::always_inline]] Process* FindWork(First first, Lane& lane);
  // Fires timers until one makes a process ready, and then looks further away.
  Process* FireOrSearch(Lane& lane);
  // The worker has found this process for the turn that begins. (Inlined: a
  // part of each turn.)
  [[gnu::always_inline]] void BeginTurn(const Process& process);
  // Runs and measures the turn. Afterwards another thread may hold this worker.
  static void RunSampled(const Clock& clock, ProcessRunner& runner,
                         Process& process);
  // Sets special_turn_ to the first special turn after this turn.
  void PlanSpecialTurn();
  // Sets sampled_turn_ to a later turn.
  void PlanSample();
  // The best process that is ready here or in the global queue; null: there is
  // none.
  [[gnu::always_inline]] Process* TakeReady(First first) {
    WillRead(&queue_.next);
    Process* const next = queue_.next;
    uint32_t levels = queue_.ready.levels();
    if (next != nullptr) {
      const int level = next->Priority();
      const uint64_t all = levels | scheduler_.GlobalWord();
      if (all >> level <= 1 && first == First::kOwn) [[likely]] {
        queue_.next = nullptr;
        return NextOrOldest(next, level);
      }
      levels |= LevelBit(level);
    }
    return TakeBest(levels, first);
  }
  // TakeReady if the best process is not simply `next`. `levels`: the levels of
  // the processes that are ready here.
  [[gnu::noinline]] Process* TakeBest(uint32_t levels, First first);
  // TakeBest without ShowNext. `levels`: the levels that may have a ready
  // process here.
  Process* TakeHighest(uint32_t levels, First first);
  // A process of this level that is ready here, `next` included; null: there is
  // none.
  Process* TakeLocal(int level);
  // A process that continues in this level; now and then a ready process of
  // another worker instead. Null: there is neither.
  Process* TakeBack(int level);
  // `next`, which is of this level, or, before `next`, the oldest process of
  // the level.
  Process* NextOrOldest(Process* next, int level) {
    return TurnOfNewest(level) ? next : OldestBefore(next, level);
  }
  // NextOrOldest if the oldest process is due.
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
  // A process below the best level: of the lowest level first, and each time of
  // the next level above, so that each level advances. Null: there is none.
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
  uint64_t empty_turns_ = 0;  // turns that found no process
  // The next turn with a special rule, so that other turns need one comparison.
  uint64_t special_turn_ = 0;
  // The next turn that is measured; kNever: none is.
  static constexpr uint64_t kNever = UINT64_MAX;
  uint64_t sampled_turn_ = kNever;
  // How often in a row the newest process of each level went first.
  std::array<uint8_t, kPriorities> newest_in_a_row_{};
  // While the global queue is fair: the next turn goes to it first.
  bool global_first_ = false;
  // The level that TakeLow served last.
  int aged_level_ = kPriorities - 1;
  // For each level: the source from which TakeLow took last.
  std::array<uint8_t, kPriorities> aged_source_{};
  // Turns of processes that continue, since the last check of other workers.
  uint32_t backs_ = 0;
  bool searching_ = false;
  bool woken_ = false;  // was woken, and has found no process since
  // The last turn that found no process, and the timers that had fired by then.
  uint64_t dry_turn_ = 0;
  uint64_t dry_fired_ = 0;
  int fruitless_ = 0;
  bool is_timekeeper_ = false;
  uint64_t sleep_ns_ = 0;
};

}  // namespace actord::runtime
