#include "daemon/wire/status_mapping.h"

#include <actord/text.h>

#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "daemon/wire/proto_time.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "runtime/process/errors.h"
#include "runtime/system/assert.h"

namespace actord::daemon {
namespace {

// The key of the payload that WithPid adds.
constexpr char kStartedKey[] = "actord/started";

// Makes a message valid UTF-8 and cuts it, because a message may contain text
// from a plugin or a client.
std::string Presentable(absl::string_view message) {
  return ToUtf8({message.data(), message.size()}, kMaxErrorMessageBytes);
}

std::string PresentableReason(const absl::Status& status) {
  std::string reason = runtime::ReasonOf(status);
  return reason.empty() ? absl::StatusCodeToString(status.code()) : reason;
}

// Whether a process chose the code. It may have done something before, so the
// code does not say that the call had no effect.
bool IsOfProcess(const absl::Status& status) {
  const std::string reason = runtime::ReasonOf(status);
  return reason == runtime::reason::kCallFailed ||
         reason == runtime::reason::kInitRefused;
}

bool IsRetryable(const absl::Status& status) {
  return (status.code() == absl::StatusCode::kResourceExhausted ||
          status.code() == absl::StatusCode::kUnavailable) &&
         !IsOfProcess(status);
}

// Whether the status names a field of the request.
bool NamesField(const absl::Status& status) {
  return status.code() == absl::StatusCode::kInvalidArgument &&
         runtime::ReasonOf(status) != runtime::reason::kCallFailed;
}

google::protobuf::Duration RetryDelay(const absl::Status& status) {
  return ToProtoDuration(
      runtime::RetryDelayOf(status).value_or(kDefaultRetryDelay));
}

// The process that the error names; "": none.
std::string PidOf(const absl::Status& status) {
  std::string holder = runtime::HolderOf(status);
  if (!holder.empty()) return holder;
  const auto started = status.GetPayload(kStartedKey);
  return started ? std::string(*started) : std::string();
}

google::rpc::ErrorInfo MakeErrorInfo(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  info.set_reason(PresentableReason(status));
  info.set_domain(std::string(kErrorDomain));
  if (std::string pid = PidOf(status); !pid.empty()) {
    (*info.mutable_metadata())["pid"] = std::move(pid);
  }
  if (std::string end = runtime::CalleeEndOf(status); !end.empty()) {
    (*info.mutable_metadata())["end"] = std::move(end);
    // A plugin may have written it.
    if (const std::string text = runtime::CalleeTextOf(status); !text.empty()) {
      (*info.mutable_metadata())["text"] =
          ToUtf8(text, runtime::kMaxCalleeTextBytes);
    }
  }
  if (std::string quota = runtime::QuotaOf(status); !quota.empty()) {
    (*info.mutable_metadata())["quota"] = std::move(quota);
    (*info.mutable_metadata())["limit"] = runtime::QuotaLimitOf(status);
  }
  return info;
}

google::rpc::BadRequest MakeBadRequest(const absl::Status& status,
                                       const std::string& message) {
  google::rpc::BadRequest bad_request;
  auto* const violation = bad_request.add_field_violations();
  violation->set_field(runtime::FieldOf(status));
  violation->set_description(message);
  return bad_request;
}

google::rpc::RetryInfo MakeRetryInfo(const absl::Status& status) {
  google::rpc::RetryInfo retry;
  *retry.mutable_retry_delay() = RetryDelay(status);
  return retry;
}

}  // namespace

absl::Status WithPid(absl::Status status, const runtime::Pid& pid) {
  if (!status.ok()) {
    status.SetPayload(kStartedKey, absl::Cord(runtime::FormatPid(pid)));
  }
  return status;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message = Presentable(status.message());
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(message);
  details.add_details()->PackFrom(MakeErrorInfo(status));
  if (NamesField(status)) {
    details.add_details()->PackFrom(MakeBadRequest(status, message));
  } else if (IsRetryable(status)) {
    details.add_details()->PackFrom(MakeRetryInfo(status));
  }
  // Both enumerations have the numbers of google.rpc.Code.
  return {static_cast<grpc::StatusCode>(status.code()), message,
          details.SerializeAsString()};
}

void WriteRefusal(const absl::Status& status, v1::Refusal* proto) {
  ACTORD_ASSERT(!status.ok(), "status_mapping.h: the status is not OK");
  proto->set_code(static_cast<int>(status.code()));
  proto->set_reason(PresentableReason(status));
  proto->set_message(Presentable(status.message()));
  proto->set_field(runtime::FieldOf(status));
  proto->set_pid(PidOf(status));
  if (IsRetryable(status)) *proto->mutable_retry_delay() = RetryDelay(status);
}

}  // namespace actord::daemon
