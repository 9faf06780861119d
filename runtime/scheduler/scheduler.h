// Who runs what: the workers' queues, the global queue, and who sleeps. It
// moves processes; it does not know what running one means (see worker.h).
//
// Quiet work. To wake a worker costs more than a short step, so a worker wakes
// nobody for two kinds of work in its own queue: a process that continues while
// nothing else is ready, and the processes that due timers woke. Meanwhile
// WorkerQueue::is_quiet is set.
//  (1) Work in the queue of a worker that is not quiet was told: a sleeper was
//      woken for it, or a searcher will find it.
//  (2) A process that continued alone is told at the begin of the first turn of
//      another process (BeginTurn).
//  (3) Work of due timers is told once the worker has fired timers for kAloneNs
//      without running dry. From then on at most three turns begin before that,
//      because BeginTurn reads the clock in every fourth.
//  (4) A worker whose queue ran empty is not quiet. So it does not sleep with
//      work, and what it steals next is told.
//  (5) The last searcher, when it looks for more work, leaves out its own queue
//      while it is quiet, and no other source (HasWorkToTell).
// tests/model/quiet.pml checks (1) to (5). Behind a turn that lasts for
// longer than that, work is the watchdog's.
//
// Thread-safety: any thread, unless a function says otherwise.
// performance-notes: Rare code moved out.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/process/process.h"
#include "runtime/scheduler/global_queue.h"
#include "runtime/scheduler/idle_workers.h"
#include "runtime/scheduler/ready_queues.h"
#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/scheduler/timer_wheel.h"
#include "runtime/scheduler/worker_counters.h"
#include "runtime/system/assert.h"
#include "runtime/system/atomic.h"
#include "runtime/system/clock.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/parker.h"
#include "runtime/system/random.h"

namespace actord::runtime {

class Hold;
struct RuntimeStats;

// What a worker has that others may reach into.
struct alignas(64) WorkerQueue {
  WorkerQueue(int number, uint64_t now_ns) : index(number), timers(now_ns) {}

  const int index;
  ReadyQueues ready;
  TimerWheel timers;
  Parker parker;
  // The thread's hold of this worker; never null once threads are there.
  Atomic<Hold*> holder{nullptr};

  WorkerCounters counted;

  // ---- Owner only, and written every turn: in a line that no other reads.

  // Runs next, before others of its priority; no thief sees it, because its
  // owner takes it, or makes it visible, as soon as its turn ends. So a lone
  // successor costs no RMW and wakes nobody.
  alignas(64) Process* next = nullptr;
  // Work may be ready here for which nobody was woken: "Quiet work" above.
  bool is_quiet = false;
  // Turns begun since timers made something ready for which nobody was woken,
  // from 1; 0: there is no such thing.
  uint32_t turns_since_due = 0;
  // Since when it has fired timers without running dry; 0: it has not.
  uint64_t firing_since_ns = 0;
};

// Processes that somebody has made runnable and not enqueued yet.
struct ReadyList {
  static constexpr size_t kCapacity = SchedulerPolicy::kReadyTogether;
  std::array<Process*, kCapacity> processes;
  size_t count = 0;

  // Precondition: it is not full.
  void Add(Process* process) {
    ACTORD_ASSERT_HOT(count < kCapacity, "scheduler.h: the list has room");
    processes[count++] = process;
  }
};

class Scheduler {
 public:
  using Policy = SchedulerPolicy;

  Scheduler(int workers, const Clock& clock);

  // Makes a process run, whose word the caller has just made runnable. `here`:
  // the queue of the worker that calls, or null from any other thread.
  void Enqueue(Process* process, WorkerQueue* here) {
    if (here == nullptr || here->next != nullptr) {
      EnqueueBeside(process, here);
      return;
    }
    WillWrite(&here->next);
    here->next = process;
  }
  // Likewise, at the end of the global queue.
  void EnqueueBack(Process* process);
  // Enqueues each process of the list and empties the list: one wake-up for
  // all.
  void EnqueueAll(ReadyList& list);
  // Enqueue for each of the list, which it empties. Others see them together,
  // with one read-modify-write and one wake-up, if there is room and they are
  // of the level of what is to run next.
  void EnqueueTogether(ReadyList& list, WorkerQueue* here);
  // Likewise, for those that due timers made ready. To wake a worker costs more
  // than to run some short steps, so `here` begins alone: somebody is woken
  // once it has fired timers and run what they made ready for Policy::kAloneNs,
  // as soon as a turn begins that looks at the clock (Policy::kTurnsPerClock).
  void EnqueueDue(ReadyList& list, WorkerQueue* here, uint64_t now_ns);
  // Like Enqueue, for a process that continues: behind all that is ready here
  // and in the global queue.
  void EnqueueBehind(Process* process, WorkerQueue* here);
  // Like Enqueue, for a process whose turn has just ended: whatever its step
  // made ready goes first.
  void EnqueueAgain(Process* process, WorkerQueue* here);

  // A turn begins, of a process that is in no queue of `here` any more: wakes
  // somebody for what is ready there still, if nobody was (is_quiet).
  void BeginTurn(WorkerQueue& here) {
    if (here.is_quiet) [[unlikely]] {
      MayWake(here);
    }
  }
  // Nothing is ready in `here` for which nobody was woken.
  static void EndQuiet(WorkerQueue& here) {
    here.is_quiet = false;
    here.turns_since_due = 0;
  }
  // `here.next` will not run next: lets others see it.
  void ShowNext(WorkerQueue& here) {
    PushLocal(std::exchange(here.next, nullptr), here);
  }

  // Takes from the highest level among these of the global queue: one to run at
  // once, and some more into `here`, so that up to Policy::kGlobalBatch of the
  // level are there;
  // at most `most` in all. Null: all are empty. One load then, since workers
  // ask every turn.
  Process* TakeGlobal(WorkerQueue& here, uint32_t among = kAllLevels,
                      size_t most = Policy::kGlobalBatch) {
    return (global_.levels() & among) == 0 ? nullptr
                                           : TakeGlobalNow(here, among, most);
  }
  // The levels of the global queue that are not empty.
  [[nodiscard]] uint32_t GlobalLevels() const { return global_.levels(); }
  // What is counted and queued, for people. Any thread; no worker waits for it.
  void AddTo(RuntimeStats& stats) const;
  // Steals from the others in a random order, from the highest level that the
  // victim has. Null: nothing found. Precondition: nothing is ready in `here`.
  Process* Steal(WorkerQueue& here, Random& random);

  // Likewise from one of the others, but only what is of this level and does
  // not continue. Precondition: nothing else of the level is ready in `here`.
  Process* StealReady(WorkerQueue& here, int level, Random& random);

  // A timer has been added to some wheel. A worker that is awake will look at
  // it before it sleeps, and keep the time then; if it does not come to that,
  // the watchdog sees it. So one is woken only if all sleep.
  void TimerAdded(uint64_t deadline_ns);
  // So many timers were fired at once.
  void CountFired(size_t count) {
    fired_.fetch_add(count, std::memory_order_relaxed);
  }
  // Earliest time over all wheels; TimerWheel::kNever if there is none.
  [[nodiscard]] uint64_t EarliestTimerNs() const;

  // One sleeper, if there is one and nobody searches, is woken.
  void WakeForWork();
  // A look at every source of work but timers.
  [[nodiscard]] bool HasWork() const;
  // Likewise, but what is ready in `here` counts only if it is not quiet.
  [[nodiscard]] bool HasWorkToTell(const WorkerQueue& here) const;

  // Becomes the worker that sleeps only until the earliest timer, unless
  // another one does that already. Returns how long the caller may sleep, or
  // Parker::kForever. The more timers were fired since the last such sleep, the
  // longer it is at least, so that dense timers are fired many at a time.
  uint64_t BeginSleepUntilTimer(bool& is_timekeeper);
  void EndSleepUntilTimer();

  IdleWorkers& idle() { return idle_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] size_t size() const { return queues_.size(); }
  WorkerQueue& queue(size_t index) { return *queues_[index]; }

 private:
  // Enqueue, if `here` has a `next` already or there is no `here`.
  [[gnu::noinline]] void EnqueueBeside(Process* process, WorkerQueue* here);
  void PushLocal(Process* process, WorkerQueue& here);
  // PushLocal of a process of this level, without waking anybody.
  void PushOrOverflow(Process* process, WorkerQueue& here, int level);
  // What EnqueueTogether does, but for the wake-up. True: that is due.
  bool ShowTogether(ReadyList& list, WorkerQueue& here);
  [[gnu::noinline]] void MayWake(WorkerQueue& here);
  // Something was added to what is ready in `here`: one sleeper is woken for it
  // and for all that is.
  void WakeForAll(WorkerQueue& here) {
    EndQuiet(here);
    WakeForWork();
  }
  // Make room in a full level, or its back.
  void Overflow(WorkerQueue& here, int level);
  void OverflowBack(WorkerQueue& here, int level);
  Process* TakeGlobalNow(WorkerQueue& here, uint32_t among, size_t most);

  const Clock& clock_;
  std::vector<std::unique_ptr<WorkerQueue>> queues_;
  GlobalQueue global_;
  IdleWorkers idle_;
  // When the timekeeper will wake by itself; kNever: there is none. Written by
  // the sleeper that becomes or ceases to be it, read by whoever adds a timer;
  // seq_cst, the same dance as IdleWorkers (3).
  Atomic<uint64_t> timekeeper_ns_{TimerWheel::kNever};
  // Timers of late: those since the timekeeper last went to sleep, half of
  // those before, and so on. Relaxed: a hint.
  std::atomic<uint64_t> fired_{0};
};

}  // namespace actord::runtime
