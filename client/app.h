// The command line of actorctl as a function.
#pragma once

#include <string>
#include <vector>

#include "client/cli/invocation.h"
#include "client/output/exit_status.h"

namespace actord::client {

// Parses and runs one command. `arguments` are those after the program's name.
// Thread-safety: the streams of `environment` are used by the calling thread,
// and `environment.cancellation` may be cancelled by any.
ExitStatus RunActorctl(const std::vector<std::string>& arguments,
                       const Environment& environment);

}  // namespace actord::client
