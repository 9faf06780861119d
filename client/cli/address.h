// What --address may be.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace actord::client {

// OK for HOST:PORT, [IPV6]:PORT and unix:PATH. Otherwise a usage error that
// says what is wrong and what would be right; it repeats at most 200 characters
// of `address`, with '?' for what acts on a terminal.
//
// HOST is a name or an IPv4 address of letters, digits, '.', '-' and '_'; PORT
// is 1 to 65535. A name is not looked up, and nothing is connected to.
absl::Status CheckAddress(const std::string& address);

}  // namespace actord::client
