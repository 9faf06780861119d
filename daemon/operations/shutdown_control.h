// Brings everybody who wants the daemon to end (signals, Shutdown calls)
// together with the one thread that ends it.
//
// States: serving -> requested (first Request) -> ended (Carry returned). A
// later Request joins; one with kNow hurries a drain.
//
// Thread-safety: Request and requested may be called from any thread.
// WaitForRequest and Carry are for one thread, in this order. Callbacks run on
// that thread, or on the caller's if the end has been reached.
#pragma once

#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "runtime/runtime.h"

namespace actord::daemon {

class ShutdownControl {
 public:
  using Callback = absl::AnyInvocable<void(const runtime::ShutdownReport&) &&>;
  using ShutdownFunction = std::function<runtime::ShutdownReport(
      runtime::ShutdownMode, absl::Duration)>;

  ShutdownControl() = default;
  // Waits for the shutdown function to return.
  ~ShutdownControl();
  ShutdownControl(const ShutdownControl&) = delete;
  ShutdownControl& operator=(const ShutdownControl&) = delete;

  // Never blocks. The timeout of the first drain counts. `done` may be null.
  void Request(runtime::ShutdownMode mode, absl::Duration timeout,
               Callback done = nullptr);

  void WaitForRequest();

  // Calls `callback` with the first Request, on its thread; at once if there
  // has been one. For one caller.
  void OnRequest(std::function<void()> callback);
  [[nodiscard]] bool requested() const;

  struct Result {
    runtime::ShutdownReport report;
    // `shutdown` did not return in time; its threads are still running.
    bool stuck = false;
    // Somebody asked for kNow, so whatever was forced was meant to be.
    bool now = false;
  };
  // Runs `shutdown` on threads of its own, because it blocks: once as
  // requested, and once more with kNow when hurried. Gives up `force_timeout`
  // after it should have returned; the report is then what `so_far` says.
  // Answers everybody who waits.
  Result Carry(const ShutdownFunction& shutdown, absl::Duration force_timeout,
               const std::function<runtime::ShutdownReport()>& so_far);

 private:
  void TellOfRequest();
  void Start(const ShutdownFunction& shutdown, runtime::ShutdownMode mode,
             absl::Duration timeout);
  // Waits until there is a report or the patience is over. False: somebody asks
  // to hurry instead.
  bool WaitForEnd(absl::Duration patience, bool may_be_hurried);

  mutable absl::Mutex mutex_;
  std::function<void()> on_request_ ABSL_GUARDED_BY(mutex_);
  bool requested_ ABSL_GUARDED_BY(mutex_) = false;
  bool now_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration timeout_ ABSL_GUARDED_BY(mutex_);
  std::optional<runtime::ShutdownReport> report_ ABSL_GUARDED_BY(mutex_);
  // As many as there are open Shutdown calls, at most.
  std::vector<Callback> waiting_ ABSL_GUARDED_BY(mutex_);
  // Those of Carry; touched by its thread only.
  std::vector<std::thread> threads_;
};

}  // namespace actord::daemon
