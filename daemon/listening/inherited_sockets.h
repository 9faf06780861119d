// Listening sockets that a service manager has opened for the daemon (systemd's
// socket activation): LISTEN_FDS of them from descriptor 3 on, if LISTEN_PID is
// the number of this process.
//
// Thread-safety: TakeInheritedSockets changes the environment, so it is for the
// time when the program has one thread.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

namespace actord::daemon {

// Removes the variables from the environment, and makes sure that programs
// started later do not inherit the sockets. Empty: there are none.
// INVALID_ARGUMENT: a descriptor is not a listening stream socket.
absl::StatusOr<std::vector<int>> TakeInheritedSockets();

}  // namespace actord::daemon
