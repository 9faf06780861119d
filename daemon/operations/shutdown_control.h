// Collects the requests to end the daemon (signals, Shutdown calls) for the one
// thread that ends it.
//
// States: serving -> requested (first Request) -> ended (Carry returned). A
// later Request joins; one with kNow hurries a drain.
//
// From the first Request on there is a deadline for the program: the drain's
// timeout, `force_timeout` and kExitSpare after it, or the last two after a
// kNow and after Carry has returned, whatever comes first.
//
// Thread-safety: Request and requested may be called from any thread. Start,
// WaitForRequest and Carry are for one thread, in this order. Callbacks run on
// that thread, or on the caller's if the end has been reached. Ownership:
// borrows the deadline.
#pragma once

#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/operations/exit_deadline.h"
#include "runtime/runtime.h"

namespace actord::daemon {

class ShutdownControl {
 public:
  // The time that the program has beyond its timeouts to end in order.
  static constexpr absl::Duration kExitSpare = absl::Seconds(1);

  using Callback = absl::AnyInvocable<void(const runtime::ShutdownReport&) &&>;

  ShutdownControl(absl::Duration force_timeout, ExitDeadline& deadline)
      : force_timeout_(force_timeout), deadline_(deadline) {}
  // Waits for `shutdown` of Carry to return.
  ~ShutdownControl();
  ShutdownControl(const ShutdownControl&) = delete;
  ShutdownControl& operator=(const ShutdownControl&) = delete;

  // Starts the thread that Carry needs, because the system may have no thread
  // left when the daemon ends. INTERNAL: the system has no thread now.
  absl::Status Start();

  // Never blocks. The timeout of the first drain counts. `done` may be null.
  void Request(runtime::ShutdownMode mode, absl::Duration timeout,
               Callback done = nullptr);

  void WaitForRequest();

  // Calls `callback` with the first Request, on its thread; at once if there
  // has been one. For one caller.
  void OnRequest(std::function<void()> callback);
  [[nodiscard]] bool requested() const;

  // How the processes are ended.
  struct Steps {
    // Blocks until all have ended, or are given up `force_timeout` after the
    // timeout.
    std::function<runtime::ShutdownReport(runtime::ShutdownMode,
                                          absl::Duration timeout)>
        shutdown;
    // Makes a `shutdown` that drains go on as with kNow. Does not block.
    std::function<void()> hurry;
    // The report so far, if `shutdown` has not returned.
    std::function<runtime::ShutdownReport()> so_far;
  };
  struct Result {
    runtime::ShutdownReport report;
    // `shutdown` did not return in time; its thread is still running.
    bool stuck = false;
    // A request asked for kNow, so forced ends were intended.
    bool now = false;
  };
  // Runs `shutdown` on the thread of Start, as requested, and gives it up when
  // it should have returned. Answers everybody who waits. Once, after Start.
  Result Carry(const Steps& steps);

 private:
  struct Order {
    std::function<runtime::ShutdownReport(runtime::ShutdownMode,
                                          absl::Duration)>
        shutdown;
    runtime::ShutdownMode mode = runtime::ShutdownMode::kDrain;
    absl::Duration timeout;
  };

  void TellOfRequest();
  void AwaitAndRunOrder();
  // Waits for the report, at most for `patience`. False: a request asks for
  // kNow instead.
  bool WaitForEnd(absl::Duration patience, bool may_be_hurried);

  const absl::Duration force_timeout_;
  ExitDeadline& deadline_;

  mutable absl::Mutex mutex_;
  std::function<void()> on_request_ ABSL_GUARDED_BY(mutex_);
  bool requested_ ABSL_GUARDED_BY(mutex_) = false;
  bool now_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration timeout_ ABSL_GUARDED_BY(mutex_);
  std::optional<Order> order_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<runtime::ShutdownReport> report_ ABSL_GUARDED_BY(mutex_);
  // At most one for each open Shutdown call.
  std::vector<Callback> waiting_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // touched by the thread of Start only
};

}  // namespace actord::daemon
