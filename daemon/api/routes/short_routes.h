// The short routes of the JSON API, for people and webhooks:
//
//   POST   /v1/processes/TYPE                Submit
//   GET    /v1/processes/PID                 GetProcess
//   GET    /v1/processes/PID/outcome         Await
//   POST   /v1/processes/PID/messages/TOPIC  Send
//   POST   /v1/processes/PID/call/TOPIC      Call
//   DELETE /v1/processes/PID                 Cancel
//   POST   /v1/yields/TOKEN/result           CompleteYield
//   POST   /v1/yields/TOKEN/error            CompleteYield
//
// The body is the payload, and Content-Type its content type. Texts in a path
// are percent-encoded, and PID may be "@" and a name. Each route makes the
// request of its method; the call then goes through the gate like every other
// call (json_call.h).
//
// Thread-safety: pure functions.
#pragma once

#include <google/protobuf/descriptor.h>

#include <optional>
#include <string_view>

#include "absl/time/time.h"
#include "daemon/admin/admin_request.h"
#include "daemon/api/call_form.h"

namespace actord::daemon {

struct ShortCall {
  FormedCall call;
  // How long the client waits, at most `most` of FindShortRoute.
  absl::Duration patience;
};

// The refusal of a path of the API that no route has. It names the part of a
// path that may be meant.
AdminAnswer NoSuchRoute(std::string_view path);

// Whether the path may be one of a short route.
bool IsShortPath(std::string_view path);

// The call of a request for such a path. nullopt: `refusal` is the answer.
// Errors in the path, query or headers are reported after the gate has admitted
// the call.
std::optional<ShortCall> FindShortRoute(
    const google::protobuf::ServiceDescriptor& service,
    const AdminRequest& request, absl::Duration most, AdminAnswer& refusal);

}  // namespace actord::daemon
