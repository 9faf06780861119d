// Whether strangers can reach the daemon, and the refusal to serve them without
// TLS.
//
// Thread-safety: pure functions, apart from looking up names, which blocks.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "daemon/settings/config.h"

namespace actord::daemon {

// The addresses of the configuration that another machine can reach: neither
// loopback nor a Unix socket. Inherited sockets count, too. A name counts if
// one of its addresses can be reached; a name that is not found does not count,
// because nobody listens on it.
std::vector<std::string> OpenAddresses(const Config& config);

// The same for the addresses of the admin port.
std::vector<std::string> OpenAdminAddresses(const Config& config);

// Whether a browser can be sent to the address: it is TCP, and no wildcard such
// as 0.0.0.0.
bool CanBeVisited(const std::string& address);

// INVALID_ARGUMENT: there is such an address without TLS, and
// server.insecure_listen is not set. Or there is such an address of the admin
// port, which never has TLS, and admin.insecure_listen is not set. Or clients
// need certificates, and could call the JSON API over TCP without one. Or links
// are made, and no address can be visited.
absl::Status CheckOpenListening(const Config& config);

}  // namespace actord::daemon
