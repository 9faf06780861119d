#include "runtime/process/errors.h"

#include <actord/abi.h>
#include <actord/text.h>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "handlers/rules/process_rules.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {
namespace {

// Keys of the payloads that a status carries.
constexpr char kReasonKey[] = "actord/reason";
constexpr char kFieldKey[] = "actord/field";
constexpr char kHolderKey[] = "actord/holder";
constexpr char kCalleeEndKey[] = "actord/callee_end";
constexpr char kCalleeTextKey[] = "actord/callee_text";
constexpr char kQuotaKey[] = "actord/quota";
constexpr char kQuotaLimitKey[] = "actord/quota_limit";
constexpr char kRetryDelayNsKey[] = "actord/retry_delay_ns";

std::string Get(const absl::Status& status, const char* key) {
  const auto payload = status.GetPayload(key);
  return payload ? std::string(*payload) : std::string();
}

}  // namespace

absl::Status Error(absl::StatusCode code, std::string_view reason,
                   std::string_view message) {
  absl::Status status(code, ToAbsl(message));
  status.SetPayload(kReasonKey, absl::Cord(ToAbsl(reason)));
  return status;
}

absl::Status InvalidField(std::string_view field, std::string_view reason,
                          std::string_view message) {
  absl::Status status =
      Error(absl::StatusCode::kInvalidArgument, reason, message);
  status.SetPayload(kFieldKey, absl::Cord(ToAbsl(field)));
  return status;
}

absl::Status Retryable(absl::StatusCode code, std::string_view reason,
                       std::string_view message, absl::Duration retry_delay) {
  absl::Status status = Error(code, reason, message);
  status.SetPayload(
      kRetryDelayNsKey,
      absl::Cord(absl::StrCat(absl::ToInt64Nanoseconds(retry_delay))));
  return status;
}

absl::Status NameTaken(std::string_view name, std::string_view holder_pid) {
  absl::Status status =
      Error(absl::StatusCode::kAlreadyExists, reason::kNameTaken,
            absl::StrCat("process ", ToAbsl(holder_pid), " holds the name ",
                         ToAbsl(name)));
  status.SetPayload(kHolderKey, absl::Cord(ToAbsl(holder_pid)));
  return status;
}

absl::Status CalleeEnded(std::string_view callee_pid, std::string_view end,
                         std::string_view why) {
  const absl::string_view text = ToAbsl(CutUtf8(why, kMaxCalleeTextBytes));
  std::string message =
      absl::StrCat("process ", ToAbsl(callee_pid),
                   ", which was called, has ended without a reply");
  if (!end.empty()) absl::StrAppend(&message, ": ", ToAbsl(end));
  if (!text.empty()) absl::StrAppend(&message, ": ", text);
  absl::Status status =
      Error(absl::StatusCode::kAborted, reason::kCalleeEnded, message);
  status.SetPayload(kHolderKey, absl::Cord(ToAbsl(callee_pid)));
  if (!end.empty()) status.SetPayload(kCalleeEndKey, absl::Cord(ToAbsl(end)));
  if (!text.empty()) status.SetPayload(kCalleeTextKey, absl::Cord(text));
  return status;
}

absl::Status QuotaExceeded(std::string_view message, std::string_view quota,
                           uint64_t limit, absl::Duration retry_delay) {
  absl::Status status = Retryable(absl::StatusCode::kResourceExhausted,
                                  reason::kClientQuota, message, retry_delay);
  status.SetPayload(kQuotaKey, absl::Cord(ToAbsl(quota)));
  status.SetPayload(kQuotaLimitKey, absl::Cord(absl::StrCat(limit)));
  return status;
}

std::string ReasonOf(const absl::Status& status) {
  return Get(status, kReasonKey);
}

std::string FieldOf(const absl::Status& status) {
  return Get(status, kFieldKey);
}

std::string HolderOf(const absl::Status& status) {
  return Get(status, kHolderKey);
}

std::string TextTypeOf(const absl::Status& status) {
  const std::string holder = HolderOf(status);
  return holder.empty() ? "text/plain" : ACTORD_HOLDER_TYPE + holder;
}

std::string CalleeEndOf(const absl::Status& status) {
  return Get(status, kCalleeEndKey);
}

std::string CalleeTextOf(const absl::Status& status) {
  return Get(status, kCalleeTextKey);
}

std::string QuotaOf(const absl::Status& status) {
  return Get(status, kQuotaKey);
}

std::string QuotaLimitOf(const absl::Status& status) {
  return Get(status, kQuotaLimitKey);
}

std::optional<absl::Duration> RetryDelayOf(const absl::Status& status) {
  int64_t nanoseconds = 0;
  if (!absl::SimpleAtoi(Get(status, kRetryDelayNsKey), &nanoseconds)) {
    return std::nullopt;
  }
  return absl::Nanoseconds(nanoseconds);
}

absl::StatusCode ErrorCodeFromAbi(int32_t status) {
  return static_cast<absl::StatusCode>(rules::ErrorCodeOf(status));
}

}  // namespace actord::runtime
