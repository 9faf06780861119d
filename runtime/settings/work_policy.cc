#include "runtime/settings/work_policy.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"
#include "runtime/settings/command_pattern.h"

namespace actord::runtime {
namespace {

constexpr uint32_t kMaxAttempts = 1'000'000;
constexpr absl::Duration kShortest = absl::Milliseconds(10);
constexpr absl::Duration kLongest = absl::Hours(24 * 30);

absl::Status OutOfRange(const WorkPolicy& policy, std::string_view name,
                        const std::string& what) {
  return InvalidField("work_policies", reason::kInvalidField,
                      absl::StrCat("the policy of \"", policy.pattern,
                                   "\": ", std::string(name), " ", what));
}

absl::Status CheckDuration(const WorkPolicy& policy, std::string_view name,
                           absl::Duration value, absl::Duration min,
                           absl::Duration max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return OutOfRange(
      policy, name,
      absl::StrCat("is ", absl::FormatDuration(value), "; it must be from ",
                   absl::FormatDuration(min), " to ",
                   absl::FormatDuration(max)));
}

absl::Status CheckValues(const WorkPolicy& policy) {
  if (policy.max_attempts < 1 || policy.max_attempts > kMaxAttempts) {
    return OutOfRange(policy, "max_attempts",
                      absl::StrCat("is ", policy.max_attempts,
                                   "; it must be from 1 to ", kMaxAttempts));
  }
  absl::Status status =
      CheckDuration(policy, "lease", policy.lease, kShortest, kLongest);
  status.Update(CheckDuration(policy, "attempt_timeout", policy.attempt_timeout,
                              kShortest, absl::InfiniteDuration()));
  status.Update(CheckDuration(policy, "start_timeout", policy.start_timeout,
                              kShortest, absl::InfiniteDuration()));
  status.Update(CheckDuration(policy, "backoff", policy.backoff,
                              absl::ZeroDuration(), kLongest));
  status.Update(CheckDuration(policy, "max_backoff", policy.max_backoff,
                              absl::ZeroDuration(), kLongest));
  return status;
}

void Override(absl::Duration& value, uint64_t own_ns) {
  if (own_ns == 0) return;
  value = own_ns <= static_cast<uint64_t>(INT64_MAX)
              ? absl::Nanoseconds(static_cast<int64_t>(own_ns))
              : absl::InfiniteDuration();
}

}  // namespace

absl::Status ValidateWorkPolicy(const WorkPolicy& policy) {
  if (!IsPattern(policy.pattern)) {
    return OutOfRange(policy, "its pattern",
                      "must be a command's name, or a prefix that ends in '*'");
  }
  return CheckValues(policy);
}

absl::StatusOr<WorkPolicy> PolicyOfYield(const WorkPolicy& base,
                                         const actord_work_policy& own,
                                         std::string_view command) {
  WorkPolicy policy = base;
  policy.pattern = std::string(command);
  if (own.max_attempts != 0) policy.max_attempts = own.max_attempts;
  Override(policy.lease, own.lease_ns);
  Override(policy.attempt_timeout, own.attempt_timeout_ns);
  Override(policy.start_timeout, own.start_timeout_ns);
  Override(policy.backoff, own.backoff_ns);
  // 1 means no pause at all, which does not double.
  if (own.backoff_ns == 1) policy.backoff = absl::ZeroDuration();
  Override(policy.max_backoff, own.max_backoff_ns);
  // The configuration's max_backoff does not limit the pause that a yield
  // states.
  if (own.backoff_ns != 0 && own.max_backoff_ns == 0) {
    policy.max_backoff = std::max(policy.max_backoff, policy.backoff);
  }
  absl::Status status = CheckValues(policy);
  if (!status.ok()) return status;
  // The pattern named the yield's command only for the error.
  policy.pattern = {};
  return policy;
}

const WorkPolicy& PolicyFor(const std::vector<WorkPolicy>& policies,
                            std::string_view command) {
  static const WorkPolicy& by_default = *new WorkPolicy;
  const auto it = std::find_if(policies.begin(), policies.end(),
                               [command](const WorkPolicy& policy) {
                                 return MatchesPattern(policy.pattern, command);
                               });
  return it == policies.end() ? by_default : *it;
}

absl::Duration BackoffAfter(const WorkPolicy& policy, uint32_t attempt) {
  absl::Duration pause = policy.backoff;
  for (uint32_t i = 1; i < attempt && pause < policy.max_backoff; ++i) {
    if (pause == absl::ZeroDuration()) break;
    pause *= 2;
  }
  return std::min(pause, policy.max_backoff);
}

}  // namespace actord::runtime
