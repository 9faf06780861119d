// The command line of actorctl as a function.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/cli/invocation.h"
#include "client/output/exit_status.h"

namespace CLI {
class App;
}

namespace actord::client {

// Parses and runs one command. `arguments` excludes the program's name.
// Thread-safety: the calling thread uses the streams of `environment`; any
// thread may cancel `environment.cancellation`.
ExitStatus RunActorctl(const std::vector<std::string>& arguments,
                       const Environment& environment);

// Calls `visit` with the declaration of all commands and options, which lives
// until `visit` returns.
void VisitCommands(const std::function<void(const CLI::App& app)>& visit);

}  // namespace actord::client
