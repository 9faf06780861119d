// The policy for tasks of a command: their leases, their attempts, and the
// pauses between attempts.
//
// Thread-safety: plain values and pure functions.
#pragma once

#include <actord/abi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace actord::runtime {

struct WorkPolicy {
  // The commands of the policy: a name, or a prefix that ends in '*'.
  std::string pattern = "*";
  // Maximum number of attempts; then the yield completes with the last error. 1
  // to 1,000,000.
  uint32_t max_attempts = 10;
  // How long a worker holds a task without a heartbeat; every heartbeat
  // restarts the lease. 10 ms to 30 days.
  absl::Duration lease = absl::Seconds(30);
  // Deadline of one attempt; heartbeats do not extend it. At least 10 ms.
  absl::Duration attempt_timeout = absl::InfiniteDuration();
  // Deadline for a worker to take a waiting task, each time that the task
  // waits. Then the yield completes with DEADLINE_EXCEEDED. At least 10 ms.
  absl::Duration start_timeout = absl::InfiniteDuration();
  // The pause after the first failed attempt; it doubles with each failure, up
  // to `max_backoff`. 0 to 30 days. There is no pause after a lost worker.
  absl::Duration backoff = absl::Seconds(1);
  absl::Duration max_backoff = absl::Minutes(1);

  friend bool operator==(const WorkPolicy&, const WorkPolicy&) = default;
};

// INVALID_ARGUMENT names the value that is out of its limits.
absl::Status ValidateWorkPolicy(const WorkPolicy& policy);

// `base`, changed by `own`, the values of one yield of `command`.
// INVALID_ARGUMENT as above.
absl::StatusOr<WorkPolicy> PolicyOfYield(const WorkPolicy& base,
                                         const actord_work_policy& own,
                                         std::string_view command);

// The first policy whose pattern matches, otherwise the default policy, which
// lives for ever.
const WorkPolicy& PolicyFor(const std::vector<WorkPolicy>& policies,
                            std::string_view command);

// The pause after attempt number `attempt` failed.
absl::Duration BackoffAfter(const WorkPolicy& policy, uint32_t attempt);

}  // namespace actord::runtime
