// The queue that all workers share: first in, first out for each priority. It
// holds processes that other threads made ready, the overflow of local queues,
// and processes that have to wait their turn.
//
// The bitmap of levels is written under the mutex, and only when a level
// becomes empty or non-empty. So every worker can afford to read the bitmap
// every turn.
//
// Thread-safety: any thread. A process is in at most one queue (activity.h), so
// the number of processes bounds this queue.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <span>

#include "runtime/process/priority.h"
#include "runtime/process/process.h"
#include "runtime/system/assert.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/mutex.h"

namespace actord::runtime {

class alignas(64) GlobalQueue {
 public:
  void Push(Process* process) { PushAll(process->Priority(), {&process, 1}); }

  // All processes must be of this level. Their memory may be cold: it is not
  // read.
  void PushAll(int level, std::span<Process* const> processes) {
    const MutexLock lock(mutex_);
    ACTORD_ASSERT(IsPriority(level), "priority.h: the level exists");
    ACTORD_ASSERT_HOT(std::all_of(processes.begin(), processes.end(),
                                  [level](const Process* p) {
                                    return p->Priority() == level;
                                  }),
                      "global_queue.h: all processes are of the level");
    std::deque<Process*>& fifo = fifos_[static_cast<size_t>(level)];
    WillChange(&fifo);
    fifo.insert(fifo.end(), processes.begin(), processes.end());
    AddSize(processes.size());
    SetLevels(Unpriced(levels_).load(std::memory_order_relaxed) |
              LevelBit(level));
  }

  // Takes the oldest processes of one level: up to out.size(), and no more than
  // a fair share of 1/workers, at least 1. Returns how many it took.
  size_t Take(int level, std::span<Process*> out, size_t workers) {
    const MutexLock lock(mutex_);
    std::deque<Process*>& fifo = fifos_[static_cast<size_t>(level)];
    WillChange(&fifo);
    const size_t share = std::min(fifo.size(), fifo.size() / workers + 1);
    const size_t count = std::min(share, out.size());
    const auto end = fifo.begin() + static_cast<std::ptrdiff_t>(count);
    std::copy(fifo.begin(), end, out.begin());
    fifo.erase(fifo.begin(), end);
    AddSize(-count);
    if (fifo.empty()) {
      SetLevels(Unpriced(levels_).load(std::memory_order_relaxed) &
                ~LevelBit(level));
    }
    return count;
  }

  // The levels that are not empty. seq_cst: pairs with SetLevels.
  [[nodiscard]] uint32_t levels() const {
    return levels_.load(std::memory_order_seq_cst);
  }

  // The number of processes of all levels, a moment late, for statistics.
  // Relaxed: nothing else is read because of this number.
  [[nodiscard]] size_t size() const {
    return size_.load(std::memory_order_relaxed);
  }

 private:
  // `more` may be negative, modulo 2^64. Relaxed and without an RMW, because
  // the mutex orders the writers.
  void AddSize(size_t more) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    size_.store(size_.load(std::memory_order_relaxed) + more,
                std::memory_order_relaxed);
  }
  void SetLevels(uint32_t levels) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (Unpriced(levels_).load(std::memory_order_relaxed) == levels) return;
    // seq_cst: a thread that adds work then checks for sleepers. The store
    // pairs with a sleeper's last look (idle_workers.h (3)). If the bit was set
    // already, the store that set it came earlier in the mutex's order.
    levels_.store(levels, std::memory_order_seq_cst);
  }

  Mutex mutex_;
  std::array<std::deque<Process*>, kPriorities> fifos_ ABSL_GUARDED_BY(mutex_);
  std::atomic<size_t> size_{0};  // written under mutex_
  // Written under mutex_. In a cache line of its own, because every worker
  // reads it every turn.
  alignas(64) Atomic<uint32_t> levels_{0};
};

}  // namespace actord::runtime
