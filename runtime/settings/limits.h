// The limits that may change while a runtime runs: as plain values (Limits),
// and as the atomics that the runtime reads (LiveLimits).
// performance-notes: Rare code moved out.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "runtime/counters/counters.h"
#include "runtime/settings/limit_table.h"

namespace actord::runtime {

// As plain values: one field for each row of limit_table.h, which gives range
// and unit.
struct Limits {
#define ACTORD_COUNT(member, value, ...) size_t member = value;
#define ACTORD_COUNT_OR_NONE(member, ...) size_t member = 0;
#define ACTORD_DURATION(member, value, ...) absl::Duration member = value;
  ACTORD_LIMITS(ACTORD_COUNT, ACTORD_COUNT, ACTORD_COUNT_OR_NONE,
                ACTORD_DURATION, ACTORD_DURATION)
#undef ACTORD_COUNT
#undef ACTORD_COUNT_OR_NONE
#undef ACTORD_DURATION
};

class LiveLimits;

// The limit on the size of a payload. A refused payload is counted.
//
// Thread-safety: a plain value. Ownership: borrows the limits.
class PayloadLimit {
 public:
  // A fixed limit, which counts no refusals.
  PayloadLimit(size_t max_bytes)  // NOLINT(google-explicit-constructor)
      : max_bytes_(max_bytes) {}
  // The current value of the limit, with refusals counted in `limits`.
  explicit PayloadLimit(const LiveLimits& limits);

  [[nodiscard]] size_t max_bytes() const { return max_bytes_; }
  // Call it once for each payload.
  [[nodiscard]] bool Refuses(size_t bytes) const {
    if (bytes <= max_bytes_) [[likely]]
      return false;
    Count();
    return true;
  }

 private:
  void Count() const;

  size_t max_bytes_;
  const LiveLimits* limits_ = nullptr;
};

// The limits in force.
//
// Thread-safety: any thread. Every value is an atomic, written by Set and read
// by each admission. Relaxed: the values order nothing, and a thread may see an
// old value, or a mixture of old and new values, for a moment.
class LiveLimits {
 public:
  static constexpr uint64_t kForeverNs =
      uint64_t{std::numeric_limits<int64_t>::max()};

  explicit LiveLimits(const Limits& limits) { Set(limits); }
  LiveLimits(const LiveLimits&) = delete;
  LiveLimits& operator=(const LiveLimits&) = delete;

  void Set(const Limits& limits);
  [[nodiscard]] Limits Get() const;

  // A reader for each row of limit_table.h: one load, relaxed, at an offset
  // that is constant. Durations are in nanoseconds; kForeverNs is infinite.
#define ACTORD_NUMBER(member, ...) \
  [[nodiscard]] size_t member() const { return Load(Place::member); }
#define ACTORD_DURATION(member, ...) \
  [[nodiscard]] uint64_t member##_ns() const { return Load(Place::member); }
  ACTORD_LIMITS(ACTORD_NUMBER, ACTORD_NUMBER, ACTORD_NUMBER, ACTORD_DURATION,
                ACTORD_DURATION)
#undef ACTORD_NUMBER
#undef ACTORD_DURATION

  // The address of max_payload_bytes, for a reader in each step. Read relaxed.
  [[nodiscard]] const std::atomic<size_t>& max_payload_bytes_place() const {
    return values_[static_cast<size_t>(Place::max_payload_bytes)];
  }
  // Counts a payload that was refused for its size.
  void CountRefusedPayload() const { refused_payloads_.AddShared(); }
  [[nodiscard]] uint64_t refused_payloads() const {
    return refused_payloads_.Get();
  }

  // True: little memory is left, so work from outside is refused. Not a
  // setting: the daemon measures it.
  void SetMemoryLow(bool low) {
    memory_low_.store(low, std::memory_order_relaxed);
  }
  [[nodiscard]] bool memory_low() const {
    return memory_low_.load(std::memory_order_relaxed);
  }
  void CountRefusedForMemory() const { refused_for_memory_.AddShared(); }
  [[nodiscard]] uint64_t refused_for_memory() const {
    return refused_for_memory_.Get();
  }

 private:
  // The index of a row, and of its value.
  enum class Place : size_t {
#define ACTORD_PLACE(member, ...) member,
    ACTORD_LIMITS(ACTORD_PLACE, ACTORD_PLACE, ACTORD_PLACE, ACTORD_PLACE,
                  ACTORD_PLACE)
#undef ACTORD_PLACE
        kEnd
  };

  [[nodiscard]] uint64_t Load(Place place) const {
    return values_[static_cast<size_t>(place)].load(std::memory_order_relaxed);
  }

  std::array<std::atomic<uint64_t>, static_cast<size_t>(Place::kEnd)> values_{};
  std::atomic<bool> memory_low_{false};
  // Stored beside the limit, because the checks of payloads share nothing else.
  // In another cache line than the values that every thread reads.
  alignas(64) mutable Counter refused_payloads_;
  mutable Counter refused_for_memory_;
};

}  // namespace actord::runtime
