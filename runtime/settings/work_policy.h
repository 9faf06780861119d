// How tasks of a command are handed to remote workers: for how long, how often,
// and with what pauses.
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
  // Commands that it is for: a name, or a prefix that ends in '*'.
  std::string pattern = "*";
  // Handed out so often at most; then the yield completes with the last error.
  // 1 to 1,000,000.
  uint32_t max_attempts = 10;
  // How long a worker has a task without a sign of life; every heartbeat
  // begins it anew. 10 ms to 30 days.
  absl::Duration lease = absl::Seconds(30);
  // How long one attempt may last, heartbeats or not. 10 ms, or more.
  absl::Duration attempt_timeout = absl::InfiniteDuration();
  // How long a task may wait for a worker to take it, each time that it waits.
  // Then the yield completes with DEADLINE_EXCEEDED. 10 ms, or more.
  absl::Duration start_timeout = absl::InfiniteDuration();
  // The pause after the first attempt that failed; it doubles with each
  // further one, up to `max_backoff`. 0 to 30 days. A task whose worker was
  // lost does not pause.
  absl::Duration backoff = absl::Seconds(1);
  absl::Duration max_backoff = absl::Minutes(1);

  friend bool operator==(const WorkPolicy&, const WorkPolicy&) = default;
};

// INVALID_ARGUMENT that names what is out of its limits.
absl::Status ValidateWorkPolicy(const WorkPolicy& policy);

// `base`, but for what `own`, of one yield of `command`, says. INVALID_ARGUMENT
// as above.
absl::StatusOr<WorkPolicy> PolicyOfYield(const WorkPolicy& base,
                                         const actord_work_policy& own,
                                         std::string_view command);

// The first whose pattern matches, or else the default one, which lives for
// ever.
const WorkPolicy& PolicyFor(const std::vector<WorkPolicy>& policies,
                            std::string_view command);

// The pause after attempt number `attempt` failed.
absl::Duration BackoffAfter(const WorkPolicy& policy, uint32_t attempt);

}  // namespace actord::runtime
