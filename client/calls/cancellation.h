// Lets one thread cancel the calls of other threads.
//
// Thread-safety: every function may be called from any thread; Cancel may be
// called many times. Cancel allocates and locks, so a signal handler must not
// call it: wait for the signal on a thread and call Cancel there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "client/calls/mutex.h"

namespace actord::client {

class Cancellation {
 public:
  Cancellation();
  ~Cancellation();
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // Runs every registered callback. A callback registered later runs at once.
  void Cancel();
  [[nodiscard]] bool cancelled() const;

  // A descriptor for poll(), readable from Cancel on. Owned by this object.
  [[nodiscard]] int fd() const { return event_fd_; }

  // Keeps a callback registered for its own lifetime. When the destructor has
  // returned, the callback is not running and will not run.
  class Registration {
   public:
    // A null `cancellation` registers nothing. The callback may run before the
    // constructor returns, and must not touch the cancellation.
    Registration(Cancellation* cancellation, std::function<void()> on_cancel);
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    Cancellation* const cancellation_;
    uint64_t id_ = 0;
  };

 private:
  const int event_fd_;
  mutable Mutex mutex_;  // held while callbacks run
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::function<void()>> callbacks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::client
