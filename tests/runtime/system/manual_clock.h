// A clock that moves when told to.
//
// Thread-safety: any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/system/clock.h"

namespace actord::runtime {

// In nanoseconds.
inline constexpr uint64_t kMs = 1'000'000;
inline constexpr uint64_t kSecond = 1'000'000'000;

class ManualClock final : public Clock {
 public:
  explicit ManualClock(uint64_t now_ns = 1'000'000'000) : now_ns_(now_ns) {}

  [[nodiscard]] uint64_t MonotonicNs() const override { return now_ns_.load(); }
  // Far from the monotonic time, so that a mix-up of the two is seen.
  [[nodiscard]] uint64_t UnixNs() const override {
    return kUnixOrigin + now_ns_.load();
  }

  void AdvanceNs(uint64_t by) { now_ns_.fetch_add(by); }
  void SetNs(uint64_t now_ns) { now_ns_.store(now_ns); }

  static constexpr uint64_t kUnixOrigin = 1'700'000'000'000'000'000;

 private:
  std::atomic<uint64_t> now_ns_;
};

}  // namespace actord::runtime
