#include "runtime/effects/blocking_pool.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "runtime/crash/alternate_stack.h"

namespace actord::runtime {

BlockingPool::BlockingPool(int max_threads, size_t max_queued)
    : max_threads_(static_cast<size_t>(max_threads)), max_queued_(max_queued) {}

BlockingPool::~BlockingPool() { Stop(UINT64_MAX); }

bool BlockingPool::Post(Job job) {
  {
    const MutexLock lock(mutex_);
    if (stopping_ || jobs_.size() >= max_queued_) return false;
    jobs_.push_back(std::move(job));
    if (jobs_.size() > idle_ && threads_.size() < max_threads_ &&
        !StartThread() && threads_.empty()) {
      jobs_.pop_back();
      return false;
    }
  }
  wake_.notify_one();
  return true;
}

bool BlockingPool::StartThread() {
  try {
    threads_.emplace_back([this] { RunThread(); });
    return true;
  } catch (const std::system_error&) {
    return false;  // the system has no more threads; the existing threads go on
  }
}

bool BlockingPool::RunOne() {
  Job job;
  {
    const MutexLock lock(mutex_);
    if (jobs_.empty()) return false;
    job = std::move(jobs_.front());
    jobs_.pop_front();
  }
  std::move(job)();
  return true;
}

void BlockingPool::RunThread() {
  const AlternateStack stack_of_signals;
  for (;;) {
    Job job;
    {
      const MutexLock lock(mutex_);
      ++idle_;
      while (!stopping_ && jobs_.empty()) wake_.wait(mutex_);
      --idle_;
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
      ++running_;
    }
    std::move(job)();
    job = nullptr;  // frees the captures before the job counts as done
    const MutexLock lock(mutex_);
    if (--running_ == 0) quiet_.notify_all();
  }
}

size_t BlockingPool::Stop(uint64_t timeout_ns) {
  // A year is practically for ever, and does not overflow a time point.
  constexpr uint64_t kLongestNs = 365ull * 24 * 3600 * 1'000'000'000;
  const auto timeout =
      std::chrono::nanoseconds(std::min(timeout_ns, kLongestNs));
  std::deque<Job> dropped;
  std::vector<SystemThread> threads;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    dropped.swap(jobs_);
    wake_.notify_all();
    const auto quiet = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return running_ == 0;
    };
    if (!quiet_.wait_for(mutex_, timeout, quiet)) return running_;
    threads.swap(threads_);
  }
  for (SystemThread& thread : threads) thread.join();
  return 0;
}

size_t BlockingPool::queued() const {
  const MutexLock lock(mutex_);
  return jobs_.size();
}

size_t BlockingPool::running() const {
  const MutexLock lock(mutex_);
  return running_;
}

}  // namespace actord::runtime
