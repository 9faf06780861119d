// The common part of cancel and terminate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "actord/v1/process.pb.h"
#include "client/cli/invocation.h"
#include "client/output/exit_status.h"

namespace actord::client {

// Runs `call` for each PID in turn, also after an error, and writes the PIDs of
// successful calls, with their receipts, in the formats for programs. Returns
// the exit status of the first error.
ExitStatus ForEachPid(
    Invocation& invocation, const std::vector<std::string>& pids,
    const std::function<absl::StatusOr<v1::Receipt>(const std::string& pid)>&
        call);

// The receipt in the response, or why there is no response.
template <typename Response>
absl::StatusOr<v1::Receipt> ReceiptIn(const Response& response) {
  if (!response.ok()) return response.status();
  return response->receipt();
}

}  // namespace actord::client
