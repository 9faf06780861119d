// Parses and formats a policy for tasks: a pattern, and the values that differ
// from the default, as in "payment.* max_attempts=5 lease=1m".
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/settings/work_policy.h"

namespace actord::daemon {

// INVALID_ARGUMENT says what is wrong. The runtime checks the limits of the
// values.
absl::StatusOr<runtime::WorkPolicy> ParseWorkPolicyText(std::string_view text);
// Prints all values.
std::string FormatWorkPolicyText(const runtime::WorkPolicy& policy);

}  // namespace actord::daemon
