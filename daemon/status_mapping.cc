#include "daemon/status_mapping.h"

#include <string>
#include <utility>

#include "daemon/proto_time.h"
#include "daemon/utf8.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "runtime/errors.h"

namespace actord::daemon {
namespace {

// Messages may hold what a plugin or a client wrote.
std::string Presentable(absl::string_view message) {
  return ToUtf8({message.data(), message.size()}, kMaxErrorMessageBytes);
}

google::rpc::ErrorInfo MakeErrorInfo(const absl::Status& status) {
  google::rpc::ErrorInfo info;
  std::string reason = runtime::ReasonOf(status);
  if (reason.empty()) reason = absl::StatusCodeToString(status.code());
  info.set_reason(std::move(reason));
  info.set_domain(std::string(kErrorDomain));
  if (std::string holder = runtime::HolderOf(status); !holder.empty()) {
    (*info.mutable_metadata())["pid"] = std::move(holder);
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
  *retry.mutable_retry_delay() = ToProtoDuration(
      runtime::RetryDelayOf(status).value_or(kDefaultRetryDelay));
  return retry;
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string message = Presentable(status.message());
  google::rpc::Status details;
  details.set_code(static_cast<int>(status.code()));
  details.set_message(message);
  details.add_details()->PackFrom(MakeErrorInfo(status));
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      details.add_details()->PackFrom(MakeBadRequest(status, message));
      break;
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      details.add_details()->PackFrom(MakeRetryInfo(status));
      break;
    default:
      break;
  }
  // The numbers of both enumerations are those of google.rpc.Code.
  return {static_cast<grpc::StatusCode>(status.code()), message,
          details.SerializeAsString()};
}

}  // namespace actord::daemon
