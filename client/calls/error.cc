#include "client/calls/error.h"

#include <grpcpp/support/status.h>

#include "absl/strings/cord.h"
#include "actord/v1/stream.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace actord::client {
namespace {

constexpr char kDetailsUrl[] = "type.googleapis.com/google.rpc.Status";

void Decode(const google::protobuf::Any& any, ErrorDetails& details) {
  if (any.Is<google::rpc::ErrorInfo>()) {
    google::rpc::ErrorInfo info;
    if (!any.UnpackTo(&info)) return;
    details.reason = info.reason();
    details.metadata.insert(info.metadata().begin(), info.metadata().end());
  } else if (any.Is<google::rpc::BadRequest>()) {
    google::rpc::BadRequest bad;
    if (!any.UnpackTo(&bad)) return;
    for (const auto& violation : bad.field_violations()) {
      details.field_violations.push_back(
          {violation.field(), violation.description()});
    }
  } else if (any.Is<google::rpc::RetryInfo>()) {
    google::rpc::RetryInfo retry;
    if (!any.UnpackTo(&retry)) return;
    details.retry_delay = absl::Seconds(retry.retry_delay().seconds()) +
                          absl::Nanoseconds(retry.retry_delay().nanos());
  }
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  // Both code enumerations follow google.rpc.Code.
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
  if (!status.error_details().empty()) {
    result.SetPayload(kDetailsUrl, absl::Cord(status.error_details()));
  }
  return result;
}

absl::Status FromRefusal(const v1::Refusal& refusal) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  info.set_reason(refusal.reason());
  info.set_domain("actord");
  if (!refusal.pid().empty()) (*info.mutable_metadata())["pid"] = refusal.pid();
  details.add_details()->PackFrom(info);
  if (!refusal.field().empty()) {
    google::rpc::BadRequest bad;
    auto* const violation = bad.add_field_violations();
    violation->set_field(refusal.field());
    violation->set_description(refusal.message());
    details.add_details()->PackFrom(bad);
  }
  if (refusal.has_retry_delay()) {
    google::rpc::RetryInfo retry;
    *retry.mutable_retry_delay() = refusal.retry_delay();
    details.add_details()->PackFrom(retry);
  }
  // A refusal with code OK would not be an error.
  absl::Status result(refusal.code() == 0
                          ? absl::StatusCode::kUnknown
                          : static_cast<absl::StatusCode>(refusal.code()),
                      refusal.message());
  result.SetPayload(kDetailsUrl, absl::Cord(details.SerializeAsString()));
  return result;
}

ErrorDetails DetailsOf(const absl::Status& status) {
  ErrorDetails details;
  const auto payload = status.GetPayload(kDetailsUrl);
  google::rpc::Status decoded;
  if (!payload || !decoded.ParseFromString(std::string(*payload))) {
    return details;
  }
  for (const auto& any : decoded.details()) Decode(any, details);
  return details;
}

}  // namespace actord::client
