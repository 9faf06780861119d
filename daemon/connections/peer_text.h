// The client of a connection, for the log.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/connections/registry.h"
#include "daemon/log/client_address.h"

namespace actord::daemon {

// "192.0.2.1:4711", or "unix:17 (uid 1000, pid 4711)".
inline std::string PeerText(const Connection& connection) {
  if (!connection.credentials.has_value())
    return ClientAddress(connection.peer);
  return absl::StrCat(connection.peer, " (uid ", connection.credentials->uid,
                      ", pid ", connection.credentials->pid, ")");
}

}  // namespace actord::daemon
