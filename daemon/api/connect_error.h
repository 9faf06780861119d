// Errors in the form of the Connect protocol
// (https://connectrpc.com/docs/protocol): a status of HTTP, and a JSON object
// with code, message and details.
//
// Thread-safety: pure functions.
#pragma once

#include <grpcpp/support/status.h>

#include <string_view>

#include "absl/status/status.h"
#include "daemon/admin/admin_request.h"

namespace actord::daemon {

// Precondition: `status` is not OK. The details are those of gRPC
// (status_mapping.h). An error that names a retry delay gets a header
// Retry-After, and UNAUTHENTICATED a header WWW-Authenticate.
AdminAnswer ConnectError(const absl::Status& status);
AdminAnswer ConnectError(const grpc::Status& error);

// The number of the code with this name, such as "not_found" or "NOT_FOUND"; 0:
// there is none.
int CodeNumber(std::string_view name);

// An error of HTTP, whose status has no code: `code` is one of Connect.
AdminAnswer HttpError(unsigned http_status, std::string_view code,
                      std::string_view message);

}  // namespace actord::daemon
