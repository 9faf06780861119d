// Signals, received by a thread of their own, where they can do anything.
//
// Thread-safety: BlockSignals before any other thread is started.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"

namespace actord::daemon {

// Makes SIGTERM, SIGINT and SIGHUP wait for a SignalThread, for this thread and
// all that it starts, and ignores SIGPIPE.
void BlockSignals();

class SignalThread {
 public:
  // Calls `handler` with each signal, one at a time, until destroyed. INTERNAL:
  // the system has no thread.
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
  // Written by the destructor before it wakes the thread with a signal, which
  // also orders the two.
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace actord::daemon
