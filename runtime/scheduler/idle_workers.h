// Which workers sleep and which search. New work wakes at most one worker, and
// no work is overlooked.
//
// A worker is busy, a searcher (it looks for work to steal), or a sleeper.
//  (1) A producer (a thread that adds work) wakes a sleeper only if no worker
//      searches, because a searcher would find the work. A woken worker is a
//      searcher from the start.
//  (2) When the last searcher finds work, it first stops being a searcher, then
//      checks for more work. If there is more, it wakes the next sleeper, which
//      searches in its place. This relay spreads a burst.
//  (3) Add-versus-sleep: a producer first adds the work, then reads `sleepers`
//      and `searchers`. A worker first becomes a sleeper and stops being a
//      searcher, then checks every source of work once more: its last look. All
//      these accesses are seq_cst, so at least one of the two threads sees the
//      other.
//  (4) A worker that finds work in its last look becomes a searcher again, so
//      that the relay (2) does not break. Only a worker that really searches is
//      counted as a searcher, because others leave work to searchers.
//      (tests/model/park.pml shows what happens otherwise.)
//  (5) A worker may add work to its own queues without waking a sleeper, if it
//      wakes one at the start of one of its next turns for the work that is
//      left then (scheduler.h, "Quiet work").
//  (6) A sleeper is taken off the list exactly once: by itself, or by the
//      thread that wakes it, which then owes the sleeper a notification.
//
// The limits on searchers are taken from Go's scheduler (proc.go, wakep and
// findRunnable).
// Thread-safety: any thread.
#pragma once

#include <atomic>
#include <vector>

#include "runtime/system/assert.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class IdleWorkers {
 public:
  static constexpr int kNobody = -1;

  explicit IdleWorkers(int workers) : workers_(workers) {
    stack_.reserve(static_cast<size_t>(workers));
  }

  // False: half of the workers that are awake search already.
  bool TryBeginSearch() {
    const int busy = workers_ - sleepers_.load(std::memory_order_relaxed);
    if (2 * searchers_.load(std::memory_order_relaxed) >= busy) return false;
    BeginSearch();
    return true;
  }

  // For a worker that has seen work: no limit applies.
  void BeginSearch() { searchers_.fetch_add(1, std::memory_order_seq_cst); }

  // True: the caller was the last searcher.
  bool EndSearch() {
    const int before = searchers_.fetch_sub(1, std::memory_order_seq_cst);
    ACTORD_ASSERT(before > 0, "idle_workers.h (2), (4)");
    return before == 1;
  }

  void BeginSleep(int worker) {
    const MutexLock lock(mutex_);
    stack_.push_back(worker);
    const int before = sleepers_.fetch_add(1, std::memory_order_seq_cst);
    ACTORD_ASSERT(before < workers_ && stack_.size() == SizeFor(before) + 1,
                  "idle_workers.h (3), (6)");
  }

  // For the sleeper itself. False: another thread has claimed this sleeper, and
  // the notification is on the way.
  bool EndSleep(int worker);

  // Claims a sleeper, which the caller must notify and which now counts as a
  // searcher. kNobody: no worker sleeps, or one searches already.
  int ClaimForWork();

  [[nodiscard]] bool AllSleep() const {
    return sleepers_.load(std::memory_order_seq_cst) == workers_;
  }

  [[nodiscard]] int searchers() const {
    return searchers_.load(std::memory_order_seq_cst);
  }

 private:
  static size_t SizeFor(int sleepers) { return static_cast<size_t>(sleepers); }

  const int workers_;
  Atomic<int> searchers_{0};
  // Equal to stack_.size(). Written under mutex_.
  Atomic<int> sleepers_{0};
  Mutex mutex_;
  // The last entry fell asleep last, so its caches are the warmest.
  std::vector<int> stack_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
