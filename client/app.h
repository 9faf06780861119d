// The command line of actorctl as a function.
#pragma once

#include <string>
#include <vector>

#include "client/cli/invocation.h"
#include "client/output/exit_status.h"

namespace actord::client {

// Parses and runs one command. `arguments` excludes the program's name.
// Thread-safety: the calling thread uses the streams of `environment`; any
// thread may cancel `environment.cancellation`.
ExitStatus RunActorctl(const std::vector<std::string>& arguments,
                       const Environment& environment);

}  // namespace actord::client
