// The connection of a worker: one that lives for days, and may be silent for
// hours.
//
// Thread-safety: any thread. Ownership: the caller's.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace actord::client {

// Pauses between attempts to connect from `first` to `longest`, each from 100
// ms to 2 minutes.
std::shared_ptr<grpc::Channel> OpenWorkerChannel(const std::string& address,
                                                 absl::Duration first,
                                                 absl::Duration longest);

}  // namespace actord::client
