// Times and durations on the wire.
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

// Longer than the wire allows (10,000 years): cut to that.
google::protobuf::Duration ToProtoDuration(absl::Duration duration);
// nullopt: it breaks the rules of google.protobuf.Duration (its range, or signs
// that differ).
std::optional<absl::Duration> FromProtoDuration(
    const google::protobuf::Duration& duration);

}  // namespace actord::daemon
