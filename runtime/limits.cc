#include "runtime/limits.h"

namespace actord::runtime {
namespace {

uint64_t NsOf(absl::Duration duration) {
  // Saturates: infinite becomes LiveLimits::kForeverNs.
  return static_cast<uint64_t>(absl::ToInt64Nanoseconds(duration));
}

absl::Duration DurationOf(uint64_t ns) {
  return ns == LiveLimits::kForeverNs ? absl::InfiniteDuration()
                                      : absl::Nanoseconds(ns);
}

}  // namespace

void LiveLimits::Set(const Limits& limits) {
  max_processes_.Store(limits.max_processes);
  max_payload_bytes_.Store(limits.max_payload_bytes);
  max_mailbox_messages_.Store(limits.max_mailbox_messages);
  max_mailbox_bytes_.Store(limits.max_mailbox_bytes);
  max_yields_.Store(limits.max_yields);
  max_external_yield_bytes_.Store(limits.max_external_yield_bytes);
  default_yield_timeout_ns_.Store(NsOf(limits.default_yield_timeout));
  answered_yield_ttl_ns_.Store(NsOf(limits.answered_yield_ttl));
  answered_yield_max_.Store(limits.answered_yield_max);
  result_ttl_ns_.Store(NsOf(limits.result_ttl));
  result_max_bytes_.Store(limits.result_max_bytes);
}

Limits LiveLimits::Get() const {
  return {.max_processes = max_processes(),
          .max_payload_bytes = max_payload_bytes(),
          .max_mailbox_messages = max_mailbox_messages(),
          .max_mailbox_bytes = max_mailbox_bytes(),
          .max_yields = max_yields(),
          .max_external_yield_bytes = max_external_yield_bytes(),
          .default_yield_timeout = DurationOf(default_yield_timeout_ns()),
          .answered_yield_ttl = DurationOf(answered_yield_ttl_ns()),
          .answered_yield_max = answered_yield_max(),
          .result_ttl = DurationOf(result_ttl_ns()),
          .result_max_bytes = result_max_bytes()};
}

}  // namespace actord::runtime
