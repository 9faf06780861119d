// The queue that all workers share: first in, first out. For processes made
// ready by other threads, for the overflow of local queues, and for those that
// have to wait their turn.
//
// Thread-safety: any thread. A process is in at most one queue (activity.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>

#include "runtime/mutex.h"
#include "runtime/process.h"

namespace actord::runtime {

class GlobalQueue {
 public:
  void Push(Process* process) { PushAll({&process, 1}); }

  void PushAll(std::span<Process* const> processes) {
    const MutexLock lock(mutex_);
    for (Process* process : processes) {
      process->global_next = nullptr;
      if (head_ == nullptr) {
        head_ = process;
      } else {
        tail_->global_next = process;
      }
      tail_ = process;
    }
    // seq_cst: the caller then asks whether somebody sleeps; pairs with the
    // sleeper's last look (idle_workers.h).
    size_.store(size_.load(std::memory_order_relaxed) + processes.size(),
                std::memory_order_seq_cst);
  }

  // Takes up to out.size() of the oldest, and no more than a fair share of
  // 1/workers, at least 1. Returns how many.
  size_t Take(std::span<Process*> out, size_t workers) {
    if (Size() == 0) return 0;
    const MutexLock lock(mutex_);
    const size_t size = size_.load(std::memory_order_relaxed);
    const size_t share = std::min(size, size / workers + 1);
    size_t count = 0;
    while (count < std::min(share, out.size())) {
      out[count++] = head_;
      head_ = head_->global_next;
    }
    size_.store(size - count, std::memory_order_seq_cst);
    return count;
  }

  size_t Size() const { return size_.load(std::memory_order_seq_cst); }

 private:
  Mutex mutex_;
  Process* head_ ABSL_GUARDED_BY(mutex_) = nullptr;
  // Valid while head_ is set.
  Process* tail_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::atomic<size_t> size_{0};  // written under mutex_
};

}  // namespace actord::runtime
