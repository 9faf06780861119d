// Cancels at a deadline, or when another cancellation is cancelled.
//
// Thread-safety: every function may be called from any thread. Ownership:
// borrows both cancellations, which must outlive it.
#pragma once

#include <condition_variable>
#include <thread>

#include "absl/time/time.h"
#include "client/calls/cancellation.h"
#include "client/calls/mutex.h"

namespace actord::client {

class Alarm {
 public:
  // Cancels `stop` when `interrupt` is cancelled, or at `deadline`.
  Alarm(Cancellation& interrupt, absl::Time deadline, Cancellation& stop);
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // True if the deadline came first.
  [[nodiscard]] bool rang();

 private:
  const Cancellation::Registration registration_;
  const absl::Time deadline_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  bool rang_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace actord::client
