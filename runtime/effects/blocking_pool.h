// Threads for jobs that may block: pooled command handlers, loads of plugins.
// The threads are started when first needed, up to a limit, and the backlog is
// bounded.
//
// Thread-safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "runtime/system/mutex.h"
#include "runtime/system/thread.h"

namespace actord::runtime {

class BlockingPool {
 public:
  using Job = absl::AnyInvocable<void() &&>;

  // With 0 threads, only RunOne runs jobs.
  BlockingPool(int max_threads, size_t max_queued);
  ~BlockingPool();
  BlockingPool(const BlockingPool&) = delete;
  BlockingPool& operator=(const BlockingPool&) = delete;

  // False: the backlog is full, the pool has stopped, or no thread can be
  // started; the job is not taken.
  bool Post(Job job);
  // Runs one job on the caller's thread. False: the backlog is empty.
  bool RunOne();
  // Drops the backlog, and waits up to `timeout_ns` for the running jobs.
  // Returns the number of jobs that still run then; with 0, all threads have
  // ended. Idempotent.
  size_t Stop(uint64_t timeout_ns);

  [[nodiscard]] size_t queued() const;
  [[nodiscard]] size_t running() const;
  [[nodiscard]] bool has_stopped() const {
    const MutexLock lock(mutex_);
    return stopping_;
  }

 private:
  void RunThread();
  // False: the system has no more threads.
  bool StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_threads_;
  const size_t max_queued_;
  mutable Mutex mutex_;
  ConditionVariable wake_;
  ConditionVariable quiet_;  // running_ has become 0
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mutex_);
  std::vector<SystemThread> threads_ ABSL_GUARDED_BY(mutex_);
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace actord::runtime
