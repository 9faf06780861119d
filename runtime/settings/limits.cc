#include "runtime/settings/limits.h"

#include "runtime/settings/limit_info.h"

namespace actord::runtime {
namespace {

constexpr uint64_t kNoCount = std::numeric_limits<uint64_t>::max();

// The value in LiveLimits for a value of Limits.
uint64_t LiveValue(const LimitRow& row, const Limits& limits) {
  if (row.duration != nullptr) {
    // Saturates: infinite becomes LiveLimits::kForeverNs.
    return static_cast<uint64_t>(
        absl::ToInt64Nanoseconds(limits.*row.duration));
  }
  const uint64_t number = limits.*row.number;
  return row.kind == LimitKind::kCountOrNone && number == 0 ? kNoCount : number;
}

// The reverse of LiveValue.
void SetFromLive(const LimitRow& row, uint64_t value, Limits& limits) {
  if (row.duration != nullptr) {
    limits.*row.duration = value == LiveLimits::kForeverNs
                               ? absl::InfiniteDuration()
                               : absl::Nanoseconds(value);
  } else {
    limits.*row.number =
        row.kind == LimitKind::kCountOrNone && value == kNoCount ? 0 : value;
  }
}

}  // namespace

PayloadLimit::PayloadLimit(const LiveLimits& limits)
    : max_bytes_(limits.max_payload_bytes()), limits_(&limits) {}

void PayloadLimit::Count() const {
  if (limits_ != nullptr) limits_->CountRefusedPayload();
}

void LiveLimits::Set(const Limits& limits) {
  size_t place = 0;
  for (const LimitRow& row : LimitRows()) {
    values_[place++].store(LiveValue(row, limits), std::memory_order_relaxed);
  }
}

Limits LiveLimits::Get() const {
  Limits limits;
  size_t place = 0;
  for (const LimitRow& row : LimitRows()) {
    SetFromLive(row, values_[place++].load(std::memory_order_relaxed), limits);
  }
  return limits;
}

}  // namespace actord::runtime
