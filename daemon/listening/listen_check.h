// Finds out whether the daemon can listen on an address, before the daemon
// starts anything.
//
// Thread-safety: any thread; blocks while a name is looked up.
#pragma once

#include <string>

namespace actord::daemon {

// Binds the address and releases it again. Returns the reason of a failure,
// such as "Address already in use", or "" on success.
std::string WhyNotListening(const std::string& address);

// Why `path` cannot be the path of a socket; "" if it can. Does not test
// whether a server answers there.
std::string WhyNoSocketPath(const std::string& path);

}  // namespace actord::daemon
