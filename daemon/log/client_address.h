// The address of a client, as people write addresses: for lines of the log,
// errors and lists.
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace actord::daemon {

// `peer` is as gRPC's `peer()` spells it. "192.0.2.1:4711" of
// "ipv4:192.0.2.1:4711", "[::1]:4711" of "ipv6:%5B::1%5D:4711". Any other text,
// such as "unix:17", stays as it is.
std::string ClientAddress(std::string_view peer);

}  // namespace actord::daemon
