// Ends the program at a deadline, whatever its other threads wait for: a step
// that does not return, gRPC, a plugin's destructor.
//
// Thread-safety: Limit and left may be called from any thread; Start and the
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
  // `expire` is not called after this.
  ~ExitDeadline();
  ExitDeadline(const ExitDeadline&) = delete;
  ExitDeadline& operator=(const ExitDeadline&) = delete;

  // Starts the thread that waits for the deadline, and that calls `expire` once
  // it has passed. Deadlines that were set before count. INTERNAL: the system
  // has no thread.
  absl::Status Start(std::function<void()> expire);

  // The deadline is `patience` from now, unless it comes earlier already.
  // Infinite: changes nothing.
  void Limit(absl::Duration patience);
  // How long it is until the deadline; infinite: there is none.
  [[nodiscard]] absl::Duration left() const;

 private:
  static constexpr uint64_t kNone = UINT64_MAX;

  void Run(const std::function<void()>& expire);

  // On the monotonic clock. Only falls. Written by Limit and read by the
  // thread; relaxed: the parker orders them.
  std::atomic<uint64_t> deadline_ns_{kNone};
  // Written by the destructor, read by the thread, as above.
  std::atomic<bool> stopping_{false};
  runtime::Parker parker_;
  std::thread thread_;
};

}  // namespace actord::daemon
