// The common part of cancel and terminate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/invocation.h"
#include "client/output/exit_status.h"

namespace actord::client {

// Runs `call` for each PID in turn, also after an error, and writes the PIDs of
// successful calls in the formats for programs. Returns the exit status of the
// first error.
ExitStatus ForEachPid(
    Invocation& invocation, const std::vector<std::string>& pids,
    const std::function<absl::Status(const std::string& pid)>& call);

}  // namespace actord::client
