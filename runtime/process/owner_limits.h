// The maximum number of live processes of each owner, if there is one. Nobody
// (owner.h) has no limit: the boot tree and the administrator are not bound by
// it. All other owners have the same limit, each for itself.
//
// Thread-safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/process/owner.h"
#include "runtime/system/assert.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

class OwnerLimits {
 public:
  // 0: no limit, and no memory for counts. Else at most 2^28.
  explicit OwnerLimits(size_t max)
      : max_(static_cast<uint32_t>(max)), live_(max == 0 ? 0 : kOwners) {}
  OwnerLimits(const OwnerLimits&) = delete;
  OwnerLimits& operator=(const OwnerLimits&) = delete;

  // Counts one more process. False: the owner is at its limit.
  bool Take(Owner owner) {
    if (max_ == 0 || owner == Owner::kNobody) return true;
    Atomic<uint32_t>& live = live_[static_cast<size_t>(owner)];
    // Relaxed: no other data depends on the count.
    uint32_t before = Unpriced(live).load(std::memory_order_relaxed);
    do {
      if (before >= max_) return false;
    } while (!live.compare_exchange_weak(before, before + 1,
                                         std::memory_order_relaxed));
    return true;
  }
  // Counts one process less.
  void Give(Owner owner) {
    if (max_ == 0 || owner == Owner::kNobody) return;
    const uint32_t before = live_[static_cast<size_t>(owner)].fetch_sub(
        1, std::memory_order_relaxed);
    ACTORD_ASSERT(before != 0,
                  "owner_limits.h: a process that ends was counted");
  }

  // 0: no limit.
  [[nodiscard]] size_t max() const { return max_; }

 private:
  static constexpr size_t kOwners = size_t{UINT16_MAX} + 1;

  const uint32_t max_;
  // By owner. Never above `max_`, not even for a moment: a refused process must
  // not cause the refusal of another process, for which there is room by then.
  std::vector<Atomic<uint32_t>> live_;
};

}  // namespace actord::runtime
