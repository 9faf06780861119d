// Says why an address cannot be listened on, which gRPC only logs.
//
// Thread-safety: any thread; blocks for the look-up of a name.
#pragma once

#include <string>

namespace actord::daemon {

// Tries to bind the address and gives it up again. The reason in words, such as
// "Address already in use"; "" if it can be listened on.
std::string WhyNotListening(const std::string& address);

// Why `path` cannot be the path of a socket; "" if it can. It does not test
// whether a server answers there.
std::string WhyNoSocketPath(const std::string& path);

}  // namespace actord::daemon
