// Who sleeps and who searches: so that work wakes at most one worker, and no
// work is overlooked.
//
// A worker is busy, a searcher (looks for work to steal), or a sleeper.
//  (1) Whoever adds work wakes a sleeper only if nobody searches: the searcher
//      will find the work. A woken worker is a searcher from the start.
//  (2) A searcher that finds work and was the last one looks, when it is no
//      searcher any more, whether there is more, and if so wakes the next
//      sleeper, which searches in its place: the relay that spreads a burst.
//  (3) Add-versus-sleep: a producer first adds the work, then reads `sleepers`
//      and `searchers`; a worker first becomes a sleeper and stops being a
//      searcher, then looks at every source once more. All of these are
//      seq_cst, so at least one of the two sees the other.
//  (4) A worker that finds work in that last look goes for it as a searcher, so
//      that the relay (2) does not break; and nobody is counted as a searcher
//      who is not one, because others leave work to it. (tests/model/park.pml
//      shows what happens otherwise.)
//  (5) A worker may add work to its own queues and wake nobody, if at the begin
//      of one of its next turns it wakes somebody for what it has not taken by
//      then (scheduler.h, "Quiet work").
//  (6) A sleeper is taken off the list exactly once: by whoever wakes it, who
//      then owes it a notification, or by itself.
//
// The numbers are those of Go's scheduler (proc.go, wakep and findRunnable).
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

  // False: half of the busy workers search already.
  bool TryBeginSearch() {
    const int busy = workers_ - sleepers_.load(std::memory_order_relaxed);
    if (2 * searchers_.load(std::memory_order_relaxed) >= busy) return false;
    BeginSearch();
    return true;
  }

  // For a worker that has seen work: it may search in any case.
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

  // For the sleeper itself. False: somebody has claimed it, and its
  // notification is on the way.
  bool EndSleep(int worker);

  // A sleeper for the caller to notify, now counted as a searcher; or kNobody,
  // if none sleeps or somebody searches.
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
  Atomic<int> sleepers_{0};  // stack_.size(); written under mutex_
  Mutex mutex_;
  // The last slept last: its caches are the warmest.
  std::vector<int> stack_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::runtime
