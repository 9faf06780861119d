// What cancel and terminate have in common.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/invocation.h"
#include "client/output/exit_status.h"

namespace actord::client {

// Calls for one PID after the other, also after an error, and writes those that
// went well in the formats for programs. Returns what the first error means.
ExitStatus ForEachPid(
    Invocation& invocation, const std::vector<std::string>& pids,
    const std::function<absl::Status(const std::string& pid)>& call);

}  // namespace actord::client
