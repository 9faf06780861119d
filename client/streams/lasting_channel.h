// The connection of a call that lives for days, and may be silent for hours: a
// worker's, or a watch's.
//
// Thread-safety: any thread. Ownership: the caller's.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace actord::client {

// Pauses between attempts to connect from `first` to `longest`, each from 100
// ms to 2 minutes.
std::shared_ptr<grpc::Channel> OpenLastingChannel(const std::string& address,
                                                  absl::Duration first,
                                                  absl::Duration longest);

// Whether the next attempt at such a call may come to something else than the
// one that ended so.
bool IsWorthAnotherTry(const grpc::Status& status);

}  // namespace actord::client
