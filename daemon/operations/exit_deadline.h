// Ends the program at a deadline, even if its other threads are stuck: in a
// step that does not return, in gRPC, or in a plugin's destructor.
//
// Thread-safety: Limit and left may be called from any thread. Start and the
// destructor are for one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/system/parker.h"

namespace actord::daemon {

class ExitDeadline {
 public:
  ExitDeadline() = default;
  // `expire` is not called after the destructor.
  ~ExitDeadline();
  ExitDeadline(const ExitDeadline&) = delete;
  ExitDeadline& operator=(const ExitDeadline&) = delete;

  // Starts the thread that waits for the deadline and calls `expire` when the
  // deadline has passed. A deadline that was set before Start counts. INTERNAL:
  // the system has no thread left.
  absl::Status Start(std::function<void()> expire);

  // Sets the deadline to `patience` from now, unless there is an earlier
  // deadline. An infinite `patience` changes nothing.
  void Limit(absl::Duration patience);
  // The time until the deadline; infinite: there is no deadline.
  [[nodiscard]] absl::Duration left() const;

 private:
  static constexpr uint64_t kNone = UINT64_MAX;

  void Run(const std::function<void()>& expire);

  // The deadline on the monotonic clock. It only gets earlier. Limit writes it,
  // and the thread and `left` read it. Relaxed: the parker orders the write
  // before the thread's read.
  std::atomic<uint64_t> deadline_ns_{kNone};
  // The destructor writes it, and the thread reads it. Relaxed: the parker
  // orders the write before the read.
  std::atomic<bool> stopping_{false};
  runtime::Parker parker_;
  std::thread thread_;
};

}  // namespace actord::daemon
