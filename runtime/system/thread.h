// Threads and condition variables: the standard library's. In a test build an
// Interleaver (fail_point.h) may simulate them.
//
// Thread-safety: as the standard library's.
#pragma once

#include <sched.h>

#include <condition_variable>
#include <thread>

#include "runtime/system/fail_point.h"
#include "runtime/system/mutex.h"

#ifdef ACTORD_FAIL_POINTS
#include <chrono>
#include <functional>
#include <utility>
#endif

namespace actord::runtime {

// Lets other threads run.
inline void YieldThread() {
#ifdef ACTORD_FAIL_POINTS
  if (interleaver != nullptr) {
    interleaver->Yield();
    return;
  }
#endif
  sched_yield();
}

#ifndef ACTORD_FAIL_POINTS

using SystemThread = std::thread;
using ConditionVariable = std::condition_variable_any;

#else

class SystemThread {
 public:
  SystemThread() = default;
  explicit SystemThread(std::function<void()> run) {
    if (interleaver != nullptr) {
      played_ = true;
      number_ = interleaver->Start(std::move(run));
    } else {
      thread_ = std::thread(std::move(run));
    }
  }
  SystemThread(SystemThread&& other) noexcept { *this = std::move(other); }
  SystemThread& operator=(SystemThread&& other) noexcept {
    thread_ = std::move(other.thread_);
    played_ = std::exchange(other.played_, false);
    number_ = other.number_;
    return *this;
  }

  [[nodiscard]] bool joinable() const { return played_ || thread_.joinable(); }
  void join() {
    if (std::exchange(played_, false)) {
      interleaver->Join(number_);
    } else {
      thread_.join();
    }
  }

 private:
  std::thread thread_;
  bool played_ = false;
  uint64_t number_ = 0;
};

class ConditionVariable {
 public:
  void notify_one() { notify_all(); }
  void notify_all() {
    if (interleaver != nullptr) {
      interleaver->Wake(this);
    } else {
      condition_.notify_all();
    }
  }
  void wait(Mutex& mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (interleaver == nullptr) return condition_.wait(mutex);
    Play(mutex, Interleaver::kForever);
  }
  void wait_for(Mutex& mutex, std::chrono::nanoseconds timeout)
      ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (interleaver == nullptr) {
      condition_.wait_for(mutex, timeout);
    } else {
      Play(mutex, static_cast<uint64_t>(timeout.count()));
    }
  }
  template <typename Predicate>
  bool wait_for(Mutex& mutex, std::chrono::nanoseconds timeout,
                Predicate predicate) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (interleaver == nullptr) {
      return condition_.wait_for(mutex, timeout, predicate);
    }
    while (!predicate()) {
      if (!Play(mutex, static_cast<uint64_t>(timeout.count()))) {
        return predicate();
      }
    }
    return true;
  }

 private:
  // False: the time has passed.
  bool Play(Mutex& mutex, uint64_t timeout_ns) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    mutex.unlock();
    const bool in_time = interleaver->Wait(this, timeout_ns);
    mutex.lock();
    return in_time;
  }
  std::condition_variable_any condition_;
};

#endif

}  // namespace actord::runtime
