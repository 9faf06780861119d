// Receives signals on their own thread, where handlers may call any function.
//
// Thread-safety: call BlockSignals before another thread is started.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"

namespace actord::daemon {

// Reserves SIGTERM, SIGINT and SIGHUP for a SignalThread, in this thread and
// all threads that it starts. Ignores SIGPIPE and SIGXFSZ: a write to a reader
// that is gone, or beyond a limit on the size of files, fails as any other.
void BlockSignals();

class SignalThread {
 public:
  // Calls `handler` for each signal, one at a time, until destroyed. INTERNAL:
  // the system has no thread left.
  static absl::StatusOr<std::unique_ptr<SignalThread>> Start(
      std::function<void(int signal)> handler);
  ~SignalThread();
  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  explicit SignalThread(std::function<void(int signal)> handler)
      : handler_(std::move(handler)) {}
  void Run();

  const std::function<void(int signal)> handler_;
  // Written by the destructor before it wakes the thread with a signal; the
  // signal orders the write before the read.
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace actord::daemon
