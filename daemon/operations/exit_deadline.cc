#include "daemon/operations/exit_deadline.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

ExitDeadline::~ExitDeadline() {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_relaxed);
  parker_.Notify();
  thread_.join();
}

absl::Status ExitDeadline::Start(std::function<void()> expire) {
  try {
    thread_ = std::thread([this, expire = std::move(expire)] { Run(expire); });
    return absl::OkStatus();
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat(
        "cannot start the thread that ends the daemon: ", error.what()));
  }
}

void ExitDeadline::Run(const std::function<void()>& expire) {
  pthread_setname_np(pthread_self(), "exit");
  while (!stopping_.load(std::memory_order_relaxed)) {
    const absl::Duration wait = left();
    if (wait <= absl::ZeroDuration()) return expire();
    parker_.Wait(wait == absl::InfiniteDuration()
                     ? runtime::Parker::kForever
                     : static_cast<uint64_t>(absl::ToInt64Nanoseconds(wait)));
  }
}

void ExitDeadline::Limit(absl::Duration patience) {
  // No program runs for longer than this. Below the limit, the sum cannot
  // overflow.
  if (patience > absl::Hours(24 * 365 * 100)) return;
  const uint64_t deadline_ns = runtime::Clock::System().MonotonicNs() +
                               static_cast<uint64_t>(std::max<int64_t>(
                                   0, absl::ToInt64Nanoseconds(patience)));
  uint64_t old_ns = deadline_ns_.load(std::memory_order_relaxed);
  while (deadline_ns < old_ns &&
         !deadline_ns_.compare_exchange_weak(old_ns, deadline_ns,
                                             std::memory_order_relaxed)) {
  }
  parker_.Notify();
}

absl::Duration ExitDeadline::left() const {
  const uint64_t deadline_ns = deadline_ns_.load(std::memory_order_relaxed);
  if (deadline_ns == kNone) return absl::InfiniteDuration();
  return absl::Nanoseconds(
      static_cast<int64_t>(deadline_ns) -
      static_cast<int64_t>(runtime::Clock::System().MonotonicNs()));
}

}  // namespace actord::daemon
