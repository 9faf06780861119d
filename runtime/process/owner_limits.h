// How much of one resource each owner may use: live processes, bytes in
// mailboxes, bytes of external yields. Nobody (owner.h) has no limit: the boot
// tree and the administrator are not bound by it.
//
// While counting is off, a Take is one load and one test. Counting begins with
// the first limit, or with Count, and never ends. Amounts taken before are not
// counted, so the taker notes whether its Take was counted, and Gives only
// then.
//
// Bounds: 1 MiB from the moment at which counting begins.
//
// Thread-safety: any thread; Count and Set are for one thread at a time.
// performance-notes: Rare code moved out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "runtime/process/owner.h"
#include "runtime/system/assert.h"
#include "runtime/system/atomic.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

// The limits of one owner; 0: no limit.
struct OwnerQuotas {
  // Live processes.
  uint64_t processes = 0;
  // Bytes of the messages and calls that wait in the mailboxes of its
  // processes, counted as for `max_mailbox_bytes`.
  uint64_t mailbox_bytes = 0;
  // Bytes of the external yields of its processes that wait for an answer,
  // counted as for `max_external_yield_bytes`.
  uint64_t yield_bytes = 0;

  bool operator==(const OwnerQuotas&) const = default;
};

// The quotas of an owner that has quotas of its own.
struct OwnQuotas {
  Owner owner = Owner::kNobody;
  OwnerQuotas quotas;
};

class OwnerLimits {
 public:
  // The limit of one owner; 0: none.
  struct Exception {
    Owner owner = Owner::kNobody;
    uint64_t max = 0;
  };
  enum class Taken : uint8_t { kNotCounted, kCounted, kRefused };

  OwnerLimits() = default;
  OwnerLimits(const OwnerLimits&) = delete;
  OwnerLimits& operator=(const OwnerLimits&) = delete;

  // Counts from now on, also without a limit. Processes are counted from the
  // start, at their beginning and end.
  void Count() {
    if (rows_ != nullptr) return;
    rows_ = std::make_unique<Row[]>(kOwners);
    // Release: pairs with the load of Rows.
    published_.store(rows_.get(), std::memory_order_release);
  }

  // From now on every owner may use `max`, except the owners of `exceptions`;
  // 0: no limit. Amounts above a new limit stay. Amounts are at most 2^48.
  void Set(uint64_t max, std::span<const Exception> exceptions) {
    if (rows_ == nullptr && max == 0 && exceptions.empty()) return;
    Count();
    for (size_t owner = 1; owner < kOwners; ++owner) SetMax(owner, max);
    for (const Exception& one : exceptions) {
      SetMax(static_cast<size_t>(one.owner), one.max);
    }
  }

  [[nodiscard]] bool IsCounting() const { return Rows() != nullptr; }

  // Counts `amount` more. kRefused: the owner would be above its limit.
  [[nodiscard]] Taken Take(Owner owner, uint64_t amount) {
    Row* const rows = Rows();
    return rows == nullptr || owner == Owner::kNobody
               ? Taken::kNotCounted
               : TakeCounted(rows[static_cast<size_t>(owner)], amount);
  }
  // Counts `amount` more, even above the limit. False: it is not counted.
  bool TakeAnyway(Owner owner, uint64_t amount) {
    Row* const rows = Rows();
    if (rows == nullptr || owner == Owner::kNobody) return false;
    rows[static_cast<size_t>(owner)].used.fetch_add(amount,
                                                    std::memory_order_relaxed);
    return true;
  }
  // Gives back the amount of a counted Take.
  void Give(Owner owner, uint64_t amount) {
    Row* const rows = Rows();
    if (rows == nullptr || owner == Owner::kNobody) return;
    const uint64_t before = rows[static_cast<size_t>(owner)].used.fetch_sub(
        amount, std::memory_order_relaxed);
    ACTORD_ASSERT(before >= amount,
                  "owner_limits.h: what is given back was taken");
  }

  // 0: no limit.
  [[nodiscard]] uint64_t MaxOf(Owner owner) const {
    const Row* const rows = Rows();
    if (rows == nullptr) return 0;
    const uint64_t max =
        rows[static_cast<size_t>(owner)].max.load(std::memory_order_relaxed);
    return max == kNone ? 0 : max;
  }
  [[nodiscard]] uint64_t UsedBy(Owner owner) const {
    const Row* const rows = Rows();
    return rows == nullptr ? 0
                           : rows[static_cast<size_t>(owner)].used.load(
                                 std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kOwners = size_t{UINT16_MAX} + 1;
  static constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

  // Relaxed, both: no other data depends on them. A Take during a Set may be
  // judged by the former limit.
  struct Row {
    // A refused Take never raises it above the limit, not even for a moment,
    // because it could cause the refusal of another Take for which there is
    // room.
    Atomic<uint64_t> used{0};
    std::atomic<uint64_t> max{kNone};
  };

  // Acquire: pairs with Count.
  [[nodiscard]] Row* Rows() const {
    return published_.load(std::memory_order_acquire);
  }
  void SetMax(size_t owner, uint64_t max) {
    rows_[owner].max.store(max == 0 ? kNone : max, std::memory_order_relaxed);
  }
  [[gnu::noinline]] static Taken TakeCounted(Row& row, uint64_t amount) {
    const uint64_t max = row.max.load(std::memory_order_relaxed);
    uint64_t before = Unpriced(row.used).load(std::memory_order_relaxed);
    do {
      if (before + amount > max) return Taken::kRefused;
    } while (!row.used.compare_exchange_weak(before, before + amount,
                                             std::memory_order_relaxed));
    return Taken::kCounted;
  }

  std::unique_ptr<Row[]> rows_;
  // Count writes it once. A thread that does not see it yet does not count yet.
  std::atomic<Row*> published_{nullptr};
};

}  // namespace actord::runtime
