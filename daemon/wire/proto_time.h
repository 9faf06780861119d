// Translates times and durations to and from the wire.
//
// Thread-safety: pure functions.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace actord::daemon {

google::protobuf::Timestamp ToProtoTimestamp(uint64_t unix_ns);

// A duration beyond the limit of the wire (10,000 years) is cut to the limit.
google::protobuf::Duration ToProtoDuration(absl::Duration duration);
// nullopt: `duration` breaks the rules of google.protobuf.Duration. It is out
// of range, or the signs of seconds and nanos differ.
std::optional<absl::Duration> FromProtoDuration(
    const google::protobuf::Duration& duration);

}  // namespace actord::daemon
