// Checks the value of --address.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace actord::client {

// OK for HOST:PORT, [IPV6]:PORT and unix:PATH. Otherwise a usage error that
// names the mistake and the right form. The error repeats at most 200
// characters of `address`, with '?' for control characters.
//
// HOST is a name or an IPv4 address of letters, digits, '.', '-' and '_'; PORT
// is 1 to 65535. CheckAddress looks no name up and does not connect.
absl::Status CheckAddress(const std::string& address);

// The address with the port 7600 if it names a host alone, as in "localhost"
// and
// "[::1]". Other text stays as it is, also if it is no address.
std::string WithDefaultPort(const std::string& address);

}  // namespace actord::client
