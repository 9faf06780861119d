// The one place where errors become what a client sees: grpc::Status with
// google.rpc.Status details, or the refusal of an item of a stream.
//
// Every error carries an ErrorInfo (domain "actord", a stable reason);
// INVALID_ARGUMENT adds a BadRequest that names the field, RESOURCE_EXHAUSTED
// and UNAVAILABLE add a RetryInfo.
//
// Thread-safety: pure functions.
#pragma once

#include <grpcpp/support/status.h>

#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actord/v1/stream.pb.h"

namespace actord::daemon {

inline constexpr std::string_view kErrorDomain = "actord";
// For errors that could not say how long to wait.
inline constexpr absl::Duration kDefaultRetryDelay = absl::Milliseconds(100);
// A message is cut to this. It travels in the trailers up to three times, in
// growing encodings, and clients accept 8 KiB of trailers.
inline constexpr size_t kMaxErrorMessageBytes = 1024;

// `status` usually comes from runtime::Error and its kin. One without a reason
// gets the name of its code ("INTERNAL").
grpc::Status ToGrpcStatus(const absl::Status& status);
// The same, about one item of a stream. `status` is not OK.
void WriteRefusal(const absl::Status& status, v1::Refusal* proto);

}  // namespace actord::daemon
