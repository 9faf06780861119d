// Whether a program listens at an address, for a client that waits for a
// daemon's exit.
//
// Thread-safety: any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace actord::client {

// Connects without TLS, and closes the connection. `address`: as in
// Endpoint::address. True: a connection was accepted, or waits for it. False:
// the system refuses all connections, because no program listens there.
// UNAVAILABLE: neither is known, for example because the host does not answer
// within `patience`; the message says why. Blocks, also while a name is looked
// up.
absl::StatusOr<bool> IsListening(const std::string& address,
                                 absl::Duration patience);

}  // namespace actord::client
