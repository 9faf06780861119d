// Makes errors with the same details as the errors of the daemon.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace actord::client {

inline grpc::Status MakeError(grpc::StatusCode code, const std::string& reason,
                              const std::string& message,
                              const std::string& field = "",
                              int retry_ms = -1) {
  google::rpc::Status status;
  status.set_code(code);
  status.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("actord");
  status.add_details()->PackFrom(info);
  if (!field.empty()) {
    google::rpc::BadRequest bad;
    auto* violation = bad.add_field_violations();
    violation->set_field(field);
    violation->set_description("this field");
    status.add_details()->PackFrom(bad);
  }
  if (retry_ms >= 0) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(retry_ms / 1000);
    retry.mutable_retry_delay()->set_nanos(retry_ms % 1000 * 1000000);
    status.add_details()->PackFrom(retry);
  }
  return {code, message, status.SerializeAsString()};
}

inline grpc::Status NoProcess(const std::string& pid) {
  return MakeError(grpc::StatusCode::NOT_FOUND, "PROCESS_NOT_FOUND",
                   "no process " + pid);
}

}  // namespace actord::client
