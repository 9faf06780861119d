#include "client/output/exit_status.h"

#include "absl/strings/cord.h"
#include "client/calls/error.h"

namespace actord::client {
namespace {

constexpr char kUsageUrl[] = "actorctl/usage";

}  // namespace

absl::Status UsageError(const std::string& message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsageUrl, absl::Cord());
  return status;
}

ExitStatus ExitStatusOf(const absl::Status& status) {
  if (status.GetPayload(kUsageUrl)) return ExitStatus::kUsage;
  // The process chooses the code of a refusal, so the code says nothing about
  // the daemon or the connection.
  const std::string reason = DetailsOf(status).reason;
  if (reason == "INIT_REFUSED" || reason == "CALL_FAILED") {
    return ExitStatus::kFailed;
  }
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitStatus::kDone;
    case absl::StatusCode::kNotFound:
      return ExitStatus::kNotFound;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
      return ExitStatus::kNotAllowed;
    case absl::StatusCode::kUnavailable:
    // gRPC's message for calls that were open when their server ended. An
    // interruption of this program is known without a status.
    case absl::StatusCode::kCancelled:
      return ExitStatus::kUnavailable;
    case absl::StatusCode::kDeadlineExceeded:
      return ExitStatus::kDeadline;
    default:
      return ExitStatus::kFailed;
  }
}

}  // namespace actord::client
