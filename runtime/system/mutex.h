// A mutex for short sections, with Clang's thread-safety annotations. A thread
// that finds it locked spins for a moment before it sleeps.
// docs/decisions/0005-std-mutex.md says why it is neither absl::Mutex nor
// std::mutex.
#pragma once

#include <pthread.h>

#include "absl/base/thread_annotations.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

class ABSL_LOCKABLE Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // Locking and unlocking cannot fail: the mutex is neither recursive nor
  // robust.
#ifndef ACTORD_FAIL_POINTS
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { pthread_mutex_lock(&mutex_); }
  void unlock() ABSL_UNLOCK_FUNCTION() { pthread_mutex_unlock(&mutex_); }
  // False: the mutex is locked, maybe by this thread.
  [[nodiscard]] bool try_lock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    return pthread_mutex_trylock(&mutex_) == 0;
  }
#else
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    if (interleaver == nullptr) {
      pthread_mutex_lock(&mutex_);
      return;
    }
    interleaver->MaySwitch();
    WillChange(this);
    while (pthread_mutex_trylock(&mutex_) != 0) {
      interleaver->AwaitMutex(this);
      WillChange(this);
    }
  }
  [[nodiscard]] bool try_lock() ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    if (interleaver != nullptr) interleaver->MaySwitch();
    WillChange(this);
    return pthread_mutex_trylock(&mutex_) == 0;
  }
  void unlock() ABSL_UNLOCK_FUNCTION() {
    WillChange(this);
    pthread_mutex_unlock(&mutex_);
    if (interleaver != nullptr) interleaver->ReleasedMutex(this);
  }
#endif

 private:
  pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
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

}  // namespace actord::runtime
