#include "client/streams/lasting_channel.h"

#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <cstdint>

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

}  // namespace actord::client
