#include "daemon/settings/work_policy_text.h"

#include <array>
#include <limits>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "daemon/settings/config_text.h"

namespace actord::daemon {
namespace {

using runtime::WorkPolicy;

struct DurationName {
  const char* name;
  absl::Duration WorkPolicy::*member;
};
constexpr std::array<DurationName, 5> kDurations = {
    {{"lease", &WorkPolicy::lease},
     {"attempt_timeout", &WorkPolicy::attempt_timeout},
     {"start_timeout", &WorkPolicy::start_timeout},
     {"backoff", &WorkPolicy::backoff},
     {"max_backoff", &WorkPolicy::max_backoff}}};
constexpr char kAttempts[] = "max_attempts";

absl::Status Set(const std::string& name, const std::string& value,
                 WorkPolicy& policy) {
  std::vector<std::string> known = {kAttempts};
  if (name == kAttempts) {
    const absl::StatusOr<uint64_t> count = ParseCountText(value);
    if (!count.ok()) return count.status();
    if (*count > std::numeric_limits<uint32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, "=", value, " is too large"));
    }
    policy.max_attempts = static_cast<uint32_t>(*count);
    return absl::OkStatus();
  }
  for (const DurationName& duration : kDurations) {
    known.emplace_back(duration.name);
    if (name != duration.name) continue;
    const absl::StatusOr<absl::Duration> parsed = ParseDurationText(value);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": ", parsed.status().message()));
    }
    policy.*duration.member = *parsed;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", name, "\" is not one of ", absl::StrJoin(known, ", ")));
}

}  // namespace

absl::StatusOr<WorkPolicy> ParseWorkPolicyText(std::string_view text) {
  const std::vector<std::string> words = absl::StrSplit(
      absl::string_view(text.data(), text.size()), ' ', absl::SkipEmpty());
  if (words.empty() || words[0].find('=') != std::string::npos) {
    return absl::InvalidArgumentError(
        "must begin with a command, or a prefix and *, as in \"payment.* "
        "max_attempts=5 lease=1m\"");
  }
  WorkPolicy policy;
  policy.pattern = words[0];
  std::set<std::string> seen;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", words[i], "\" is not of the form name=value"));
    }
    const std::string name = words[i].substr(0, equals);
    if (!seen.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat(name, " is given twice"));
    }
    absl::Status status = Set(name, words[i].substr(equals + 1), policy);
    if (!status.ok()) return status;
  }
  return policy;
}

std::string FormatWorkPolicyText(const WorkPolicy& policy) {
  std::string text =
      absl::StrCat(policy.pattern, " ", kAttempts, "=", policy.max_attempts);
  for (const DurationName& duration : kDurations) {
    absl::StrAppend(&text, " ", duration.name, "=",
                    FormatDurationText(policy.*duration.member));
  }
  return text;
}

}  // namespace actord::daemon
