// Translates errors for clients, as the only place that does. An error becomes
// a grpc::Status with google.rpc.Status details, or the refusal of one item of
// a stream.
//
// Every error carries an ErrorInfo (domain "actord", a stable reason).
// INVALID_ARGUMENT adds a BadRequest, which names the field. RESOURCE_EXHAUSTED
// and UNAVAILABLE add a RetryInfo, unless a process chose the code.
//
// Thread-safety: pure functions.
#pragma once

#include <grpcpp/support/status.h>

#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actord/v1/stream.pb.h"
#include "runtime/process/pid.h"

namespace actord::daemon {

inline constexpr std::string_view kErrorDomain = "actord";
// The retry delay of an error that states none.
inline constexpr absl::Duration kDefaultRetryDelay = absl::Milliseconds(100);
// Longer messages are cut to this size. A message travels in the trailers up to
// three times, in encodings that enlarge it, and clients accept 8 KiB of
// trailers.
inline constexpr size_t kMaxErrorMessageBytes = 1024;

// The error of a call that has started this process: the ErrorInfo names it,
// unless the error names a process already. OK stays OK.
absl::Status WithPid(absl::Status status, const runtime::Pid& pid);

// `status` usually comes from runtime::Error or a similar function. A status
// without a reason gets the name of its code ("INTERNAL") as the reason.
grpc::Status ToGrpcStatus(const absl::Status& status);
// Writes the refusal of one item of a stream. Precondition: `status` is not OK.
void WriteRefusal(const absl::Status& status, v1::Refusal* proto);

}  // namespace actord::daemon
