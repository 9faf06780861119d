#include "daemon/links/link_request.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_time.h"
#include "runtime/process/errors.h"

namespace actord::daemon {
namespace {

constexpr absl::Duration kDefaultExpiry = absl::Hours(24);
constexpr absl::Duration kMinExpiry = absl::Seconds(1);
constexpr absl::Duration kMaxExpiry = absl::Hours(24 * 30);

absl::StatusOr<absl::Duration> ReadExpiry(
    const v1::CreateYieldLinkRequest& request) {
  if (!request.has_expires_in()) return kDefaultExpiry;
  const std::optional<absl::Duration> given =
      FromProtoDuration(request.expires_in());
  if (!given.has_value() || *given < kMinExpiry || *given > kMaxExpiry) {
    return Wrong("expires_in", "is not a duration of 1 s to 30 days");
  }
  return *given;
}

}  // namespace

absl::StatusOr<YieldLink> ReadCreateYieldLink(
    const v1::CreateYieldLinkRequest& request, absl::Time now) {
  const absl::StatusOr<runtime::TaskToken> token =
      runtime::ParseTaskToken(request.token());
  if (!token.ok()) {
    return runtime::InvalidField(
        "token", runtime::reason::kInvalidYieldToken,
        absl::StrCat("token: ", token.status().message()));
  }
  if (token->attempt != 0) {
    return Wrong("token",
                 "is of a task: a link needs the token of the yield, which has "
                 "no attempt at its end");
  }
  const absl::StatusOr<absl::Duration> expiry = ReadExpiry(request);
  if (!expiry.ok()) return expiry.status();
  absl::Status status = CheckLength("text", request.text(), kMaxLinkTextBytes);
  if (!status.ok()) return status;
  if (static_cast<size_t>(request.values_size()) > kMaxLinkValues) {
    return Wrong("values",
                 absl::StrCat("has more than ", kMaxLinkValues, " values"));
  }
  for (const std::string& value : request.values()) {
    if (value.empty()) return Wrong("values", "has an empty value");
    status = CheckLength("values", value, kMaxLinkValueBytes);
    if (!status.ok()) return status;
  }
  YieldLink link;
  link.yield = token->yield;
  // Rounded up, so that a link works for as long as was asked for.
  link.expires_unix_s = static_cast<uint64_t>(
      absl::ToUnixSeconds(now + *expiry + absl::Nanoseconds(999'999'999)));
  link.text = request.text();
  link.values.assign(request.values().begin(), request.values().end());
  return link;
}

}  // namespace actord::daemon
