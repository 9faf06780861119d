// How a policy for tasks is written in the configuration: a pattern, and what
// differs from the default, as in "payment.* max_attempts=5 lease=1m".
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/settings/work_policy.h"

namespace actord::daemon {

// INVALID_ARGUMENT that says what is wrong. Limits of the values are the
// runtime's business.
absl::StatusOr<runtime::WorkPolicy> ParseWorkPolicyText(std::string_view text);
// With all of its values.
std::string FormatWorkPolicyText(const runtime::WorkPolicy& policy);

}  // namespace actord::daemon
