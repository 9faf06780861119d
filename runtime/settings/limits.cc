#include "runtime/settings/limits.h"

namespace actord::runtime {
namespace {

constexpr uint64_t kNoMaxSteps = std::numeric_limits<uint64_t>::max();

uint64_t NsOf(absl::Duration duration) {
  // Saturates: infinite becomes LiveLimits::kForeverNs.
  return static_cast<uint64_t>(absl::ToInt64Nanoseconds(duration));
}

absl::Duration DurationOf(uint64_t ns) {
  return ns == LiveLimits::kForeverNs ? absl::InfiniteDuration()
                                      : absl::Nanoseconds(ns);
}

}  // namespace

PayloadLimit::PayloadLimit(const LiveLimits& limits)
    : max_bytes_(limits.max_payload_bytes()), limits_(&limits) {}

void PayloadLimit::Count() const {
  if (limits_ != nullptr) limits_->CountRefusedPayload();
}

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
  dead_letter_max_count_.Store(limits.dead_letter_max_count);
  dead_letter_max_bytes_.Store(limits.dead_letter_max_bytes);
  max_watches_.Store(limits.max_watches);
  watch_max_events_.Store(limits.watch_max_events);
  watch_max_bytes_.Store(limits.watch_max_bytes);
  watch_retention_ns_.Store(NsOf(limits.watch_retention));
  max_steps_.Store(limits.max_steps == 0 ? kNoMaxSteps : limits.max_steps);
  max_lifetime_ns_.Store(NsOf(limits.max_lifetime));
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
          .result_max_bytes = result_max_bytes(),
          .dead_letter_max_count = dead_letter_max_count(),
          .dead_letter_max_bytes = dead_letter_max_bytes(),
          .max_watches = max_watches(),
          .watch_max_events = watch_max_events(),
          .watch_max_bytes = watch_max_bytes(),
          .watch_retention = DurationOf(watch_retention_ns()),
          .max_steps = max_steps() == kNoMaxSteps ? 0 : max_steps(),
          .max_lifetime = DurationOf(max_lifetime_ns())};
}

}  // namespace actord::runtime
