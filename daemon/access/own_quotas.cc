#include "daemon/access/own_quotas.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace actord::daemon {
namespace {

// In the order of identity::kQuotaTable.
constexpr auto kMembers = std::to_array<uint64_t QuotaSettings::*>({
    &QuotaSettings::requests_per_second,
    &QuotaSettings::request_burst,
    &QuotaSettings::bytes_per_second,
    &QuotaSettings::bytes_burst,
    &QuotaSettings::streams,
    &QuotaSettings::connections,
    &QuotaSettings::processes,
    &QuotaSettings::mailbox_bytes,
    &QuotaSettings::yield_bytes,
});
static_assert(kMembers.size() == identity::kQuotas);

}  // namespace

QuotaSettings Overridden(QuotaSettings settings,
                         const identity::TokenQuotas& own) {
  for (size_t i = 0; i < identity::kQuotas; ++i) {
    if (own.values[i]) settings.*kMembers[i] = *own.values[i];
  }
  return settings;
}

QuotaSettings Largest(QuotaSettings a, const QuotaSettings& b) {
  for (const auto member : kMembers) a.*member = std::max(a.*member, b.*member);
  return a;
}

}  // namespace actord::daemon
