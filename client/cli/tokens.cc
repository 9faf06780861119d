#include "client/cli/tokens.h"

#include <poll.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "client/output/exit_status.h"
#include "client/output/text.h"
#include "nlohmann/json.hpp"

namespace actord::client {
namespace {

constexpr absl::Duration kLongestValidity = absl::Hours(24 * 365 * 100);
// Pause between two attempts to lock a file.
constexpr int kLockPauseMs = 10;

bool IsDecimal(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Reads "90d"; false for anything else.
bool ParseDays(const std::string& text, absl::Duration& duration) {
  int64_t days = 0;
  if (!text.ends_with('d') ||
      !std::all_of(text.begin(), text.end() - 1, IsDecimal) ||
      !absl::SimpleAtoi(text.substr(0, text.size() - 1), &days)) {
    return false;
  }
  duration = days * absl::Hours(24);
  return true;
}

// Same as ParseExpiry, without its limits.
bool ParseMoment(const std::string& text, absl::Time now, absl::Time& moment) {
  absl::Duration duration;
  if (ParseDays(text, duration)) {
    moment = now + duration;
    return true;
  }
  if (const auto parsed = ParseDuration(text); parsed.ok()) {
    moment = now + *parsed;
    return true;
  }
  std::string error;
  // absl also reads "infinite-future".
  return !text.empty() && IsDecimal(text.front()) &&
         absl::ParseTime(absl::RFC3339_full, text, &moment, &error);
}

}  // namespace

absl::StatusOr<absl::Time> ParseExpiry(const std::string& text,
                                       absl::Time now) {
  absl::Time moment;
  if (!ParseMoment(text, now, moment)) {
    return UsageError("\"" + text +
                      "\" is not a duration such as 90d or 12h, and not a time "
                      "such as 2027-01-31T00:00:00Z");
  }
  if (moment > now + kLongestValidity) {
    return UsageError("\"" + text +
                      "\" is more than 100 years from now; a token without "
                      "--expires never expires");
  }
  moment = absl::FromUnixSeconds(absl::ToUnixSeconds(moment));
  if (moment <= now) {
    return UsageError("\"" + text +
                      "\" is not in the future, and the token would be expired "
                      "at once");
  }
  return moment;
}

std::string ExpiryText(absl::Time expires) {
  return expires == absl::InfiniteFuture() ? "never" : Rfc3339(expires);
}

Json TokenJson(const identity::Identity& identity) {
  Json json = {{"id", identity.token_id},
               {"name", identity.name},
               {"role", std::string(identity::RoleName(identity.role))}};
  if (identity.expires != absl::InfiniteFuture()) {
    json["expires"] = Rfc3339(identity.expires);
  }
  json["submit"] = identity.submit;
  json["send"] = identity.send;
  json["work"] = identity.work;
  json["see"] = std::string(identity::SeesName(identity.sees));
  if (!identity.quotas.empty()) {
    Json& quotas = json["quotas"] = Json::object();
    for (size_t i = 0; i < identity::kQuotas; ++i) {
      if (identity.quotas.values[i]) {
        quotas[std::string(identity::kQuotaTable[i].name)] =
            *identity.quotas.values[i];
      }
    }
  }
  return json;
}

identity::EditOptions EditOptionsOf(Invocation& invocation,
                                    const std::string& path) {
  return {.wait = [&cancellation = invocation.environment().cancellation, path,
                   deadline = invocation.Quick().deadline]() -> absl::Status {
    if (cancellation.cancelled()) {
      return absl::CancelledError("interrupted");
    }
    if (absl::Now() >= deadline) {
      return absl::DeadlineExceededError(
          path +
          ": another program holds the lock of the file; --timeout "
          "waits longer");
    }
    pollfd interrupt = {
        .fd = cancellation.fd(), .events = POLLIN, .revents = 0};
    poll(&interrupt, 1, kLockPauseMs);
    return absl::OkStatus();
  }};
}

ExitStatus FailWithFile(Invocation& invocation, const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return invocation.Fail(status);
  return invocation.Fail(UsageError(std::string(status.message())));
}

}  // namespace actord::client
