// Decides which worker runs which process. The scheduler owns the workers'
// queues, the global queue and the list of sleepers. It moves processes but
// does not run them (worker.h does).
//
// Quiet work. Waking a worker costs more than a short step, so a worker wakes
// no sleeper for two kinds of work in its own queue: a process that continues
// while nothing else is ready, and the processes that due timers woke. While a
// worker has quiet work, WorkerQueue::is_quiet is set. Work is announced when a
// sleeper is woken for it or a searcher will find it.
//  (1) All work in the queue of a worker that is not quiet is announced.
//  (2) A process that continued alone is announced at the start of the first
//      turn of another process (BeginTurn).
//  (3) Work of due timers is announced once the worker has fired timers for
//      kAloneNs without running dry. After kAloneNs at most three turns begin
//      before the announcement, because BeginTurn reads the clock in every
//      fourth turn.
//  (4) A worker whose queue ran empty is not quiet. So it does not sleep with
//      work in its queue, and the work that it steals next is announced.
//  (5) When the last searcher checks for more work, it skips its own queue
//      while that queue is quiet. It skips no other source (HasWorkToTell).
// tests/model/quiet.pml checks (1) to (5). If a turn lasts longer than that,
// the watchdog takes care of the work behind it.
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

// The part of a worker that other threads may access.
struct alignas(64) WorkerQueue {
  WorkerQueue(int number, uint64_t now_ns) : index(number), timers(now_ns) {}

  const int index;
  ReadyQueues ready;
  TimerWheel timers;
  Parker parker;
  // The thread's hold of this worker. Never null once threads exist.
  Atomic<Hold*> holder{nullptr};

  WorkerCounters counted;

  // ---- For the owner only. Written every turn, so they have a cache line that
  // no other thread reads.

  // The process that runs next, before others of its priority. No thief sees
  // it, because the owner takes it or makes it visible as soon as the current
  // turn ends. So a lone successor costs no RMW and no wake-up.
  alignas(64) Process* next = nullptr;
  // True: work may be ready here that was not announced ("Quiet work" above).
  bool is_quiet = false;
  // 1 plus the turns begun since timers made work ready that was not announced;
  // 0: there is no such work.
  uint32_t turns_since_due = 0;
  // The time since which the worker has fired timers without running dry; 0: it
  // fires none.
  uint64_t firing_since_ns = 0;
};

// Processes that a thread has made runnable and not enqueued yet.
struct ReadyList {
  static constexpr size_t kCapacity = SchedulerPolicy::kReadyTogether;
  std::array<Process*, kCapacity> processes;
  size_t count = 0;

  // Precondition: the list is not full.
  void Add(Process* process) {
    ACTORD_ASSERT_HOT(count < kCapacity, "scheduler.h: the list has room");
    processes[count++] = process;
  }
};

class Scheduler {
 public:
  using Policy = SchedulerPolicy;

  Scheduler(int workers, const Clock& clock);

  // Enqueues a process whose word (activity.h) the caller has just made
  // runnable. `here` is the queue of the calling worker, or null on any other
  // thread.
  void Enqueue(Process* process, WorkerQueue* here) {
    if (here == nullptr || here->next != nullptr) {
      EnqueueBeside(process, here);
      return;
    }
    WillWrite(&here->next);
    here->next = process;
  }
  // Like Enqueue, but at the end of the global queue.
  void EnqueueBack(Process* process);
  // Enqueues the processes of the list in the global queue and empties the
  // list, with one wake-up for all.
  void EnqueueAll(ReadyList& list);
  // Enqueues each process of the list and empties the list. Other workers see
  // all of them at once, with one read-modify-write and one wake-up, if there
  // is room and all of them and `here->next` have the same level.
  void EnqueueTogether(ReadyList& list, WorkerQueue* here);
  // Like EnqueueTogether, for processes that due timers made ready. Waking a
  // worker costs more than some short steps, so `here` begins alone. Once
  // `here` has fired timers and run the woken processes for Policy::kAloneNs,
  // the next turn that reads the clock (Policy::kTurnsPerClock) wakes a
  // sleeper.
  void EnqueueDue(ReadyList& list, WorkerQueue* here, uint64_t now_ns);
  // Like Enqueue, for a process that continues: it goes behind all that is
  // ready in `here` and in the global queue.
  void EnqueueBehind(Process* process, WorkerQueue* here);
  // Like Enqueue, for a process whose turn has just ended: the processes that
  // its step made ready go first.
  void EnqueueAgain(Process* process, WorkerQueue* here);

  // To be called when the turn of a process begins that is in no queue of
  // `here` any more. Wakes a sleeper for the work that is still ready in
  // `here`, if that work was not announced (is_quiet).
  void BeginTurn(WorkerQueue& here) {
    if (here.is_quiet) [[unlikely]] {
      MayWake(here);
    }
    ACTORD_ASSERT_HOT(!here.is_quiet || here.turns_since_due != 0,
                      "scheduler.h (2)");
  }
  // Marks all work that is ready in `here` as announced.
  static void EndQuiet(WorkerQueue& here) {
    here.is_quiet = false;
    here.turns_since_due = 0;
  }
  // Makes `here.next` visible to others, because it will not run next.
  void ShowNext(WorkerQueue& here) {
    PushLocal(std::exchange(here.next, nullptr), here);
  }

  // Takes processes from the highest of these levels of the global queue: one
  // to run at once, which it returns, and more into `here`, until `here` has
  // Policy::kGlobalBatch of the level. Takes at most `most` in all. Null: all
  // these levels are empty. This answer costs one load, because workers ask
  // every turn.
  Process* TakeGlobal(WorkerQueue& here, uint32_t among = kAllLevels,
                      size_t most = Policy::kGlobalBatch) {
    return (global_.levels() & among) == 0 ? nullptr
                                           : TakeGlobalNow(here, among, most);
  }
  // The levels of the global queue that are not empty.
  [[nodiscard]] uint32_t GlobalLevels() const { return global_.levels(); }
  // The levels of the global queue, and GlobalQueue::kFair.
  [[nodiscard]] uint64_t GlobalWord() const { return global_.Word(); }
  // Owners take turns: every second turn goes to the global queue first.
  [[nodiscard]] bool IsFair() const { return global_.IsFair(); }
  // From now on processes have owners; see GlobalQueue.
  void BeginOwners() { global_.BeginOwners(); }
  // Adds the workers' counters and the sizes of the queues. Any thread; no
  // worker waits for this call.
  void AddTo(RuntimeStats& stats) const;
  // Tries the other workers in a random order and steals from the victim's
  // highest level. Null: nothing was found. Precondition: nothing is ready in
  // `here`.
  Process* Steal(WorkerQueue& here, Random& random);

  // Like Steal, but tries one random worker and steals only processes of this
  // level that do not continue. Precondition: `here` has no ready process of
  // the level, except perhaps processes that continue.
  Process* StealReady(WorkerQueue& here, int level, Random& random);

  // To be called after a timer was added to a wheel. A worker that is awake
  // checks the timers before it sleeps, and then becomes the timekeeper. If the
  // worker does not get that far, the watchdog sees the timer. So a worker is
  // woken only if all sleep.
  void TimerAdded(uint64_t deadline_ns);
  // To be called when `count` timers were fired at once.
  void CountFired(size_t count) {
    fired_.fetch_add(count, std::memory_order_relaxed);
  }
  // The earliest time over all wheels; TimerWheel::kNever: there is no timer.
  [[nodiscard]] uint64_t EarliestTimerNs() const;

  // Wakes one sleeper, if there is one and no worker searches.
  void WakeForWork();
  // True: a source of work is not empty. Checks every source except timers.
  [[nodiscard]] bool HasWork() const;
  // Like HasWork, but skips the ready processes of `here` while `here` is
  // quiet.
  [[nodiscard]] bool HasWorkToTell(const WorkerQueue& here) const;

  // Makes the caller the timekeeper, the worker that sleeps only until the
  // earliest timer, unless another worker is the timekeeper already. Returns
  // how long the caller may sleep in ns, or Parker::kForever. The minimum sleep
  // grows with the number of timers fired since the timekeeper's last sleep, so
  // that dense timers are fired many at a time.
  uint64_t BeginSleepUntilTimer(bool& is_timekeeper);
  void EndSleepUntilTimer();

  IdleWorkers& idle() { return idle_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] size_t size() const { return queues_.size(); }
  WorkerQueue& queue(size_t index) { return *queues_[index]; }

 private:
  // The part of Enqueue for a `here` that is null or has a `next` already.
  [[gnu::noinline]] void EnqueueBeside(Process* process, WorkerQueue* here);
  void PushLocal(Process* process, WorkerQueue& here);
  // PushLocal of a process of this level, without a wake-up.
  void PushOrOverflow(Process* process, WorkerQueue& here, int level);
  // EnqueueTogether without the wake-up. True: the caller owes the wake-up.
  bool ShowTogether(ReadyList& list, WorkerQueue& here);
  [[gnu::noinline]] void MayWake(WorkerQueue& here);
  // After a push to `here`: wakes one sleeper for all that is ready in `here`.
  void WakeForAll(WorkerQueue& here) {
    EndQuiet(here);
    WakeForWork();
  }
  // These make room in a full level, or in its back.
  void Overflow(WorkerQueue& here, int level);
  void OverflowBack(WorkerQueue& here, int level);
  Process* TakeGlobalNow(WorkerQueue& here, uint32_t among, size_t most);

  const Clock& clock_;
  std::vector<std::unique_ptr<WorkerQueue>> queues_;
  GlobalQueue global_;
  IdleWorkers idle_;
  // The time at which the timekeeper will wake by itself; kNever: there is no
  // timekeeper. Written by the sleeper that becomes or ceases to be the
  // timekeeper, read by threads that add a timer. seq_cst, for the same pairing
  // as in idle_workers.h (3).
  Atomic<uint64_t> timekeeper_ns_{TimerWheel::kNever};
  // Timers fired recently: all since the timekeeper last went to sleep, plus
  // half of this number at that time. Relaxed: a hint.
  std::atomic<uint64_t> fired_{0};
};

}  // namespace actord::runtime
