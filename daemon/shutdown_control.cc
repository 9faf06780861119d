#include "daemon/shutdown_control.h"

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
    if (!report_.has_value()) {
      if (done) waiting_.push_back(std::move(done));
      return;
    }
    report = *report_;
  }
  if (done) std::move(done)(report);
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

ShutdownControl::Result ShutdownControl::Carry(const ShutdownFunction& shutdown,
                                               absl::Duration force_timeout) {
  Result result;
  std::vector<Callback> waiting;
  bool started_with_now = false;
  absl::Duration timeout;
  {
    absl::MutexLock lock(&mutex_);
    started_with_now = now_;
    timeout = now_ ? absl::ZeroDuration() : timeout_;
  }
  Start(shutdown, started_with_now ? ShutdownMode::kNow : ShutdownMode::kDrain,
        timeout);
  const auto ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return report_.has_value();
  };
  const auto ended_or_hurried = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return report_.has_value() || now_;
  };
  bool hurry = false;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Duration patience = timeout + force_timeout;
    if (started_with_now) {
      mutex_.AwaitWithTimeout(absl::Condition(&ended), patience);
    } else {
      mutex_.AwaitWithTimeout(absl::Condition(&ended_or_hurried), patience);
      hurry = now_ && !report_.has_value();
    }
  }
  if (hurry) Start(shutdown, ShutdownMode::kNow, absl::ZeroDuration());
  {
    absl::MutexLock lock(&mutex_);
    if (hurry) mutex_.AwaitWithTimeout(absl::Condition(&ended), force_timeout);
    result.report = report_;
    result.now = now_;
    if (report_.has_value()) waiting = std::move(waiting_);
  }
  for (Callback& callback : waiting) std::move(callback)(*result.report);
  return result;
}

}  // namespace actord::daemon
