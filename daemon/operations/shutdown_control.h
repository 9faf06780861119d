// Collects the requests to end the daemon (signals, Shutdown calls) for the one
// thread that ends it.
//
// States: serving -> requested (first Request) -> ended (Carry returned). A
// later Request joins the first. A later Request with kNow hurries a drain. The
// first Request decides about durable processes.
//
// The first Request sets a deadline for the program: the sum of the drain's
// timeout, `force_timeout` and kExitSpare. A Request with kNow sets a deadline
// of `force_timeout` plus kExitSpare, and so does the return of Carry. The
// earliest deadline counts.
//
// Thread-safety: Request and requested may be called from any thread. Start,
// WaitForRequest and Carry are for one thread, in this order. Callbacks run on
// that thread, or on the caller's thread if the end has been reached.
// Ownership: borrows the deadline.
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
#include "runtime/system/parker.h"

namespace actord::daemon {

class ShutdownControl {
 public:
  // Extra time beyond the timeouts for the program to end in order.
  static constexpr absl::Duration kExitSpare = absl::Seconds(1);

  using Callback = absl::AnyInvocable<void(const runtime::ShutdownReport&) &&>;

  ShutdownControl(absl::Duration force_timeout, ExitDeadline& deadline)
      : force_timeout_(force_timeout), deadline_(deadline) {}
  // Waits until the `shutdown` of Carry has returned.
  ~ShutdownControl();
  ShutdownControl(const ShutdownControl&) = delete;
  ShutdownControl& operator=(const ShutdownControl&) = delete;

  // Starts the thread that Carry needs, because the system may have no thread
  // left when the daemon ends. INTERNAL: the system has no thread left now.
  absl::Status Start();

  // Never blocks. The timeout of the first drain counts. `done` may be null.
  void Request(runtime::ShutdownMode mode, absl::Duration timeout,
               Callback done = nullptr,
               runtime::DurableAtEnd durable = runtime::DurableAtEnd::kKeep);

  void WaitForRequest();

  // Calls `callback` during the first Request, on the thread of that Request.
  // Calls it at once if there has been a Request. For one caller.
  void OnRequest(std::function<void()> callback);
  [[nodiscard]] bool requested() const;

  using Shutdown = std::function<runtime::ShutdownReport(
      runtime::ShutdownMode, absl::Duration timeout, runtime::DurableAtEnd)>;
  // The functions that end the processes.
  struct Steps {
    // Blocks until all processes have ended. Gives up on the remaining
    // processes `force_timeout` after the timeout.
    Shutdown shutdown;
    // Turns a draining `shutdown` into one with kNow. Does not block.
    std::function<void()> hurry;
    // Returns the report so far, if `shutdown` has not returned.
    std::function<runtime::ShutdownReport()> so_far;
  };
  struct Result {
    runtime::ShutdownReport report;
    // `shutdown` did not return in time; its thread is still running.
    bool stuck = false;
    // A request asked for kNow, so forced ends were intended.
    bool now = false;
    // Durable processes that the first request asked to end are left.
    bool has_kept = false;
  };
  // Runs `shutdown` on the thread of Start, as requested, and stops waiting for
  // `shutdown` when it should have returned. Then calls the callbacks of all
  // requests. To be called once, after Start.
  Result Carry(const Steps& steps);

 private:
  struct Order {
    Shutdown shutdown;
    runtime::ShutdownMode mode = runtime::ShutdownMode::kDrain;
    absl::Duration timeout;
    runtime::DurableAtEnd durable = runtime::DurableAtEnd::kKeep;
  };

  void TellOfRequest();
  void AwaitAndRunOrder();
  // Waits for the report, for at most `patience`. False: a request asks for
  // kNow before the report has arrived.
  bool WaitForEnd(absl::Duration patience, bool may_be_hurried);

  const absl::Duration force_timeout_;
  ExitDeadline& deadline_;

  mutable absl::Mutex mutex_;
  std::function<void()> on_request_ ABSL_GUARDED_BY(mutex_);
  bool requested_ ABSL_GUARDED_BY(mutex_) = false;
  bool now_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration timeout_ ABSL_GUARDED_BY(mutex_);
  runtime::DurableAtEnd durable_ ABSL_GUARDED_BY(mutex_) =
      runtime::DurableAtEnd::kKeep;
  std::optional<Order> order_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<runtime::ShutdownReport> report_ ABSL_GUARDED_BY(mutex_);
  // The callbacks of the requests: at most one for each open Shutdown call.
  std::vector<Callback> waiting_ ABSL_GUARDED_BY(mutex_);
  // WaitForEnd waits here, regardless of jumps of the time of day. Notified
  // when there is a report, and when a request asks for kNow.
  runtime::Parker parker_;
  std::thread thread_;  // used only by the thread that calls Start
};

}  // namespace actord::daemon
