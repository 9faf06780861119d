// Reads the history of one durable process.
//
// Thread-safety: pure function of its arguments.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "actord/v1/history.pb.h"
#include "client/calls/client.h"
#include "client/calls/endpoint.h"

namespace actord::client {

// Calls `use` with each response until the stream ends. Errors: those of the
// call; CANCELLED: `options.cancellation` was cancelled.
absl::Status ReadHistory(
    const Endpoint& endpoint, const v1::ReadHistoryRequest& request,
    const CallOptions& options,
    const std::function<void(const v1::ReadHistoryResponse&)>& use);

}  // namespace actord::client
