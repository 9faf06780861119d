// Finds the program that listens at an address on which the daemon cannot
// listen, with the means of an ordinary user.
//
// Thread-safety: any thread; blocks while a name is looked up.
#pragma once

#include <string>

namespace actord::daemon {

// " (PID 7, actord)": the program that listens at `address`, which is written
// as in the configuration. Empty: nobody listens there, or the system does not
// say who does: the processes of other users are shown to root alone.
std::string PortHolder(const std::string& address);

}  // namespace actord::daemon
