#include "client/streams/lasting_call.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/calls/error.h"
#include "client/streams/lasting_channel.h"

namespace actord::client {
namespace {

// Waits until the time has passed or the cancellation is cancelled.
void PauseUnlessCancelled(absl::Duration delay, const Cancellation& stop) {
  const absl::Time until = absl::Now() + delay;
  while (!stop.cancelled()) {
    const absl::Duration left = until - absl::Now();
    if (left <= absl::ZeroDuration()) return;
    pollfd wait = {.fd = stop.fd(), .events = POLLIN, .revents = 0};
    // At most a day; rounded up, so as not to spin.
    const int64_t ms =
        std::min<int64_t>(absl::ToInt64Milliseconds(left) + 1, 86'400'000);
    if (poll(&wait, 1, static_cast<int>(ms)) < 0 && errno != EINTR) return;
  }
}

}  // namespace

LastingCall::LastingCall(const Endpoint& endpoint, LastingCallOptions options)
    : endpoint_(endpoint),
      options_(std::move(options)),
      stub_(v1::ActorService::NewStub(OpenLastingChannel(
          endpoint, options_.reconnect_delay, options_.max_reconnect_delay))) {}

absl::Status LastingCall::Repeat(
    Cancellation& stop,
    absl::FunctionRef<grpc::Status(bool& answered)> attempt) {
  absl::Status usable = CheckEndpoint(endpoint_);
  if (!usable.ok()) return usable;
  absl::Duration delay = options_.reconnect_delay;
  while (!stop.cancelled()) {
    bool answered = false;
    const grpc::Status status = attempt(answered);
    if (stop.cancelled()) break;
    if (!status.ok() && !IsWorthAnotherTry(status)) return FromGrpc(status);
    if (answered) delay = options_.reconnect_delay;
    const absl::Status why = status.ok()
                                 ? absl::UnavailableError(absl::StrCat(
                                       "the daemon has ended ", options_.name))
                                 : FromGrpc(status);
    // A retry sooner than the daemon asks for is useless.
    const absl::Duration pause =
        std::max(delay, DetailsOf(why).retry_delay.value_or(delay));
    if (options_.on_broken) options_.on_broken(why, pause);
    PauseUnlessCancelled(pause, stop);
    delay = std::min(2 * delay, options_.max_reconnect_delay);
  }
  return absl::OkStatus();
}

}  // namespace actord::client
