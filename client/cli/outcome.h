// How commands show the end of a process.
//
// Thread-safety: as that of the invocation.
#pragma once

#include <string>

#include "actord/v1/outcome.pb.h"
#include "client/cli/invocation.h"
#include "client/output/exit_status.h"

namespace actord::client {

// As in "process 1-a-b-c failed: INVALID_ARGUMENT: no such thing (FAILED)".
std::string DescribeFailure(const v1::Outcome& outcome);

// In the formats for people the bytes of the result, nothing for a failure.
// `separate`: others follow, so end the line.
void WriteOutcome(Invocation& invocation, const v1::Outcome& outcome,
                  bool separate = false);

// Says on standard error that the process failed, if it did.
ExitStatus ReportFailure(Invocation& invocation, const v1::Outcome& outcome);

}  // namespace actord::client
