// A connection for a call that lives for days and may be silent for hours: the
// call of a worker, a watch or a subscription.
//
// Thread-safety: any thread. Ownership: the caller's.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <memory>

#include "absl/time/time.h"
#include "client/calls/endpoint.h"

namespace actord::client {

// `first` and `longest` are the back-off between attempts to connect, each from
// 100 ms to 2 minutes.
std::shared_ptr<grpc::Channel> OpenLastingChannel(const Endpoint& endpoint,
                                                  absl::Duration first,
                                                  absl::Duration longest);

// Whether a retry of a call that ended with this status may succeed.
bool IsWorthAnotherTry(const grpc::Status& status);

}  // namespace actord::client
