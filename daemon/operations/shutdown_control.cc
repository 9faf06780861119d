#include "daemon/operations/shutdown_control.h"

#include <pthread.h>

#include <cstdint>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

using runtime::ShutdownMode;
using runtime::ShutdownReport;

namespace {

// The time that `shutdown` may take to return after it has given up on the
// stuck processes.
constexpr absl::Duration kReturnPatience = absl::Milliseconds(500);

}  // namespace

ShutdownControl::~ShutdownControl() {
  if (!thread_.joinable()) return;
  {
    const absl::MutexLock lock(&mutex_);
    closing_ = true;
  }
  thread_.join();
}

absl::Status ShutdownControl::Start() {
  try {
    thread_ = std::thread([this] { AwaitAndRunOrder(); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread that ends the processes: ", error.what()));
  }
}

void ShutdownControl::AwaitAndRunOrder() {
  pthread_setname_np(pthread_self(), "shutdown");
  Order order;
  {
    const auto called = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return order_.has_value() || closing_;
    };
    const absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&called));
    if (!order_.has_value()) return;
    order = *std::move(order_);
  }
  const ShutdownReport report =
      order.shutdown(order.mode, order.timeout, order.durable);
  {
    const absl::MutexLock lock(&mutex_);
    report_ = report;
  }
  parker_.Notify();
}

void ShutdownControl::Request(ShutdownMode mode, absl::Duration timeout,
                              Callback done, runtime::DurableAtEnd durable) {
  const bool now = mode == ShutdownMode::kNow;
  ShutdownReport report;
  {
    absl::MutexLock lock(&mutex_);
    const bool is_first = !std::exchange(requested_, true);
    if (is_first) {
      timeout_ = timeout;
      durable_ = durable;
    }
    if (now) now_ = true;
    if (is_first || now) {
      deadline_.Limit((now ? absl::ZeroDuration() : timeout) + force_timeout_ +
                      kExitSpare);
    }
    if (report_.has_value()) {
      report = *report_;
    } else if (done) {
      waiting_.push_back(std::exchange(done, nullptr));
    }
  }
  if (now) parker_.Notify();
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

ShutdownControl::Result ShutdownControl::Carry(const Steps& steps) {
  const absl::Duration patience = force_timeout_ + kReturnPatience;
  bool drains = true;
  absl::Duration timeout;
  {
    absl::MutexLock lock(&mutex_);
    drains = !now_;
    timeout = drains ? timeout_ : absl::ZeroDuration();
    order_ = Order{steps.shutdown,
                   drains ? ShutdownMode::kDrain : ShutdownMode::kNow, timeout,
                   durable_};
  }
  if (!WaitForEnd(timeout + patience, drains)) {
    steps.hurry();
    WaitForEnd(patience, false);
  }

  const ShutdownReport unfinished = steps.so_far();
  Result result;
  std::vector<Callback> waiting;
  {
    absl::MutexLock lock(&mutex_);
    result.stuck = !report_.has_value();
    if (result.stuck) report_ = unfinished;
    result.report = *report_;
    result.now = now_;
    result.has_kept =
        durable_ == runtime::DurableAtEnd::kEnd && result.report.kept != 0;
    waiting = std::move(waiting_);
  }
  deadline_.Limit(force_timeout_ + kExitSpare);
  for (Callback& callback : waiting) std::move(callback)(result.report);
  return result;
}

bool ShutdownControl::WaitForEnd(absl::Duration patience, bool may_be_hurried) {
  const runtime::Clock& clock = runtime::Clock::System();
  const bool is_endless = patience == absl::InfiniteDuration();
  const uint64_t until_ns =
      clock.MonotonicNs() +
      static_cast<uint64_t>(absl::ToInt64Nanoseconds(patience));
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      if (report_.has_value()) return true;
      if (may_be_hurried && now_) return false;
    }
    const uint64_t now_ns = clock.MonotonicNs();
    if (!is_endless && now_ns >= until_ns) return true;
    parker_.Wait(is_endless ? runtime::Parker::kForever : until_ns - now_ns);
  }
}

}  // namespace actord::daemon
