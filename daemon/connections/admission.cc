#include "daemon/connections/admission.h"

#include <algorithm>

namespace actord::daemon {

ConnectionLimits LimitsFor(uint64_t max, uint64_t max_per_address,
                           uint64_t reserved_descriptors,
                           uint64_t max_descriptors) {
  // At least one connection is possible, even with a large reserve.
  const uint64_t possible =
      std::max(max_descriptors, reserved_descriptors + 1) -
      reserved_descriptors;
  ConnectionLimits limits;
  limits.first_reserved = possible;
  limits.max = max == 0 ? std::min(possible, kMaxDefault) : max;
  limits.max_per_address = max_per_address == 0
                               ? std::max<uint64_t>(1, limits.max / 2)
                               : max_per_address;
  return limits;
}

Refusal Admit(const ConnectionLimits& limits, int descriptor, size_t open,
              bool has_address, size_t open_of_address) {
  if (static_cast<uint64_t>(descriptor) >= limits.first_reserved) {
    return Refusal::kDescriptors;
  }
  if (open >= limits.max) return Refusal::kTotal;
  if (has_address && open_of_address >= limits.max_per_address) {
    return Refusal::kAddress;
  }
  return Refusal::kNone;
}

}  // namespace actord::daemon
