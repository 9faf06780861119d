// std::mutex with Clang's thread-safety annotations, and a wait for a count.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace actord::client {

class ABSL_LOCKABLE Mutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits until `count`, which `mutex` guards, is below `limit`. `changed` is
// notified of each change. False: `timeout` has passed.
inline bool WaitUntilBelow(const size_t& count, size_t limit,
                           absl::Duration timeout,
                           std::condition_variable_any& changed, Mutex& mutex)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
  const absl::Time deadline = absl::Now() + timeout;
  while (count >= limit) {
    if (timeout == absl::InfiniteDuration()) {
      changed.wait(mutex);
    } else if (absl::Now() >= deadline) {
      return false;
    } else {
      changed.wait_for(mutex,
                       absl::ToChronoNanoseconds(deadline - absl::Now()));
    }
  }
  return true;
}

}  // namespace actord::client
