#include "client/streams/lasting_channel.h"

#include <grpcpp/support/channel_arguments.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "absl/time/clock.h"
#include "client/calls/connection.h"

namespace actord::client {

std::shared_ptr<grpc::Channel> OpenLastingChannel(const Endpoint& endpoint,
                                                  absl::Duration first,
                                                  absl::Duration longest) {
  // Keep-alive pings detect a daemon's machine that vanishes silently. The
  // daemon allows a ping every 10 s.
  constexpr int kKeepaliveMs = 30'000;
  constexpr int kKeepaliveTimeoutMs = 10'000;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // gRPC's own back-off may grow to two minutes.
  const auto ms = [](absl::Duration duration) {
    return static_cast<int>(
        std::clamp<int64_t>(absl::ToInt64Milliseconds(duration), 100, 120'000));
  };
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, ms(first));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, ms(longest));
  return OpenChannel(endpoint, arguments);
}

bool IsWorthAnotherTry(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNIMPLEMENTED:
      return false;
    default:
      return true;
  }
}

void Pause(absl::Duration delay, const Cancellation& stop) {
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

}  // namespace actord::client
