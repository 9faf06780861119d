// Says in plain words why no daemon answers, and what to try next.
//
// Thread-safety: pure functions, apart from the time: a certificate of the
// client that is not valid now is named as a reason.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/calls/endpoint.h"

namespace actord::client {

// "ADDRESS: the reason", for an error that gRPC reports because it could not
// connect, or because the connection broke.
std::string DescribeUnreached(const Endpoint& endpoint,
                              const absl::Status& status);

// For a stream that will be opened again: "no connection to the daemon at
// ADDRESS: the reason", "the daemon at ADDRESS is not available: …" if it ends
// or starts, or "the daemon at ADDRESS refuses: …".
std::string DescribeBreak(const Endpoint& endpoint, const absl::Status& status);

// The daemon has answered, and refuses the stream. An unavailable daemon does
// not refuse: it ends or starts.
bool IsRefusal(const absl::Status& status);

// No daemon has answered: gRPC could not connect, the connection broke, or
// something else answered.
bool IsUnreached(const absl::Status& status);

// The deadline of the client has passed, and nothing has answered.
bool IsDeadlineOfCall(const absl::Status& status);

// "cannot reach the daemon at ADDRESS: the reason. The next step".
std::string CannotReach(const Endpoint& endpoint, const absl::Status& status);

}  // namespace actord::client
