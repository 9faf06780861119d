// Shows the end of a process.
//
// Thread-safety: as the invocation's.
#pragma once

#include <string>

#include "actord/v1/outcome.pb.h"
#include "client/cli/invocation.h"
#include "client/output/exit_status.h"

namespace actord::client {

// As in "process 1-a-b-c failed: INVALID_ARGUMENT: no such thing (FAILED)".
std::string DescribeFailure(const v1::Outcome& outcome);

// Writes the outcome. The formats for people get the bytes of the result, and
// nothing for a failure. `separate` adds a line end, because other results
// follow.
void WriteOutcome(Invocation& invocation, const v1::Outcome& outcome,
                  bool separate = false);

// If the process failed, says so on standard error.
ExitStatus ReportFailure(Invocation& invocation, const v1::Outcome& outcome);

}  // namespace actord::client
