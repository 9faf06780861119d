#include "daemon/operations/shutdown_control.h"

#include <utility>

namespace actord::daemon {

using runtime::ShutdownMode;
using runtime::ShutdownReport;

ShutdownControl::~ShutdownControl() {
  for (std::thread& thread : threads_) thread.join();
}

void ShutdownControl::Request(ShutdownMode mode, absl::Duration timeout,
                              Callback done) {
  ShutdownReport report;
  {
    absl::MutexLock lock(&mutex_);
    if (!requested_) timeout_ = timeout;
    requested_ = true;
    if (mode == ShutdownMode::kNow) now_ = true;
    if (report_.has_value()) {
      report = *report_;
    } else if (done) {
      waiting_.push_back(std::exchange(done, nullptr));
    }
  }
  TellOfRequest();
  if (done) std::move(done)(report);
}

void ShutdownControl::OnRequest(std::function<void()> callback) {
  {
    absl::MutexLock lock(&mutex_);
    on_request_ = std::move(callback);
    if (!requested_) return;
  }
  TellOfRequest();
}

void ShutdownControl::TellOfRequest() {
  std::function<void()> callback;
  {
    absl::MutexLock lock(&mutex_);
    callback = std::exchange(on_request_, nullptr);
  }
  if (callback) callback();
}

bool ShutdownControl::requested() const {
  absl::MutexLock lock(&mutex_);
  return requested_;
}

void ShutdownControl::WaitForRequest() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&requested_));
}

void ShutdownControl::Start(const ShutdownFunction& shutdown, ShutdownMode mode,
                            absl::Duration timeout) {
  threads_.emplace_back([this, shutdown, mode, timeout] {
    const ShutdownReport report = shutdown(mode, timeout);
    absl::MutexLock lock(&mutex_);
    report_ = report;
  });
}

ShutdownControl::Result ShutdownControl::Carry(
    const ShutdownFunction& shutdown, absl::Duration force_timeout,
    const std::function<ShutdownReport()>& so_far) {
  ShutdownMode mode = ShutdownMode::kDrain;
  absl::Duration timeout;
  {
    absl::MutexLock lock(&mutex_);
    if (now_) mode = ShutdownMode::kNow;
    timeout = now_ ? absl::ZeroDuration() : timeout_;
  }
  Start(shutdown, mode, timeout);
  if (!WaitForEnd(timeout + force_timeout, mode == ShutdownMode::kDrain)) {
    Start(shutdown, ShutdownMode::kNow, absl::ZeroDuration());
    WaitForEnd(force_timeout, false);
  }

  const ShutdownReport unfinished = so_far();
  Result result;
  std::vector<Callback> waiting;
  {
    absl::MutexLock lock(&mutex_);
    result.stuck = !report_.has_value();
    if (result.stuck) report_ = unfinished;
    result.report = *report_;
    result.now = now_;
    waiting = std::move(waiting_);
  }
  for (Callback& callback : waiting) std::move(callback)(result.report);
  return result;
}

bool ShutdownControl::WaitForEnd(absl::Duration patience, bool may_be_hurried) {
  const auto ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return report_.has_value();
  };
  const auto ended_or_hurried = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return report_.has_value() || now_;
  };
  absl::MutexLock lock(&mutex_);
  if (!may_be_hurried) {
    mutex_.AwaitWithTimeout(absl::Condition(&ended), patience);
    return true;
  }
  mutex_.AwaitWithTimeout(absl::Condition(&ended_or_hurried), patience);
  return report_.has_value() || !now_;
}

}  // namespace actord::daemon
