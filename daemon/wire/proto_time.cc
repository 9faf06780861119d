#include "daemon/wire/proto_time.h"

#include <algorithm>

namespace actord::daemon {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
// The limit of google.protobuf.Duration, in seconds.
constexpr int64_t kMaxSeconds = 315'576'000'000;

}  // namespace

google::protobuf::Timestamp ToProtoTimestamp(uint64_t unix_ns) {
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(static_cast<int64_t>(unix_ns / kNsPerSecond));
  timestamp.set_nanos(static_cast<int32_t>(unix_ns % kNsPerSecond));
  return timestamp;
}

google::protobuf::Duration ToProtoDuration(absl::Duration duration) {
  duration = std::clamp(duration, -absl::Seconds(kMaxSeconds),
                        absl::Seconds(kMaxSeconds));
  google::protobuf::Duration proto;
  proto.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  proto.set_nanos(static_cast<int32_t>(
      absl::IDivDuration(duration, absl::Nanoseconds(1), &duration)));
  return proto;
}

std::optional<absl::Duration> FromProtoDuration(
    const google::protobuf::Duration& duration) {
  const int64_t seconds = duration.seconds();
  const int32_t nanos = duration.nanos();
  if (seconds < -kMaxSeconds || seconds > kMaxSeconds) return std::nullopt;
  if (nanos <= -kNsPerSecond || nanos >= kNsPerSecond) return std::nullopt;
  if ((seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0)) {
    return std::nullopt;
  }
  return absl::Seconds(seconds) + absl::Nanoseconds(nanos);
}

}  // namespace actord::daemon
