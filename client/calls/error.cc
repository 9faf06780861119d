#include "client/calls/error.h"

#include <grpcpp/support/status.h>

#include <charconv>
#include <cstdint>
#include <string_view>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "actord/v1/stream.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace actord::client {
namespace {

constexpr char kDetailsUrl[] = "type.googleapis.com/google.rpc.Status";
constexpr char kUnansweredUrl[] = "actord/unanswered";

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

// gRPC of the daemon refuses a request that is too large before actord has it,
// with the two sizes in its text.
bool IsTooLarge(std::string_view message, uint64_t& size, uint64_t& most) {
  constexpr std::string_view kBefore = "Received message larger than max (";
  constexpr std::string_view kBetween = " vs. ";
  if (!message.starts_with(kBefore)) return false;
  const char* const end = message.data() + message.size();
  const auto first =
      std::from_chars(message.data() + kBefore.size(), end, size);
  if (first.ec != std::errc() ||
      !std::string_view(first.ptr, end).starts_with(kBetween)) {
    return false;
  }
  return std::from_chars(first.ptr + kBetween.size(), end, most).ec ==
         std::errc();
}

absl::Status TooLarge(uint64_t size, uint64_t most) {
  google::rpc::ErrorInfo info;
  info.set_reason("PAYLOAD_TOO_LARGE");
  info.set_domain("actord");
  (*info.mutable_metadata())["max_request_bytes"] = absl::StrCat(most);
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  absl::Status result = absl::InvalidArgumentError(
      absl::StrCat("the request has ", size,
                   " bytes; the daemon takes at most limits.max_payload_bytes "
                   "(1 MiB unless configured) in a payload, and ",
                   most, " bytes in a request"));
  result.SetPayload(kDetailsUrl, absl::Cord(details.SerializeAsString()));
  return result;
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  uint64_t size = 0;
  uint64_t most = 0;
  if (status.error_details().empty() &&
      IsTooLarge(status.error_message(), size, most)) {
    return TooLarge(size, most);
  }
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

bool IsRefusedForNow(const absl::Status& status) {
  if (IsUnanswered(status)) return false;
  return absl::IsResourceExhausted(status) ||
         (absl::IsUnavailable(status) &&
          DetailsOf(status).reason == "JOURNAL_BEHIND");
}

absl::Status MarkUnanswered(absl::Status status) {
  status.SetPayload(kUnansweredUrl, absl::Cord());
  return status;
}

bool IsUnanswered(const absl::Status& status) {
  return status.GetPayload(kUnansweredUrl).has_value();
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
