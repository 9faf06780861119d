// When a call began, and how long it may take, in one word: a yield record
// stays one cache line.
//
//   bits 20 to 63  the begin: milliseconds of the monotonic clock, plus 2^43.
//                  A call of a durable process may be older than the clock.
//   bits 15 to 19  e
//   bits 0 to 14   m: the call may take m * 2^e milliseconds; 0: for ever
//
// The timeout is exact up to 32 s, and otherwise up to 0.01 % too short.
//
// Thread-safety: a plain value.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace actord::runtime {

class CallTimes {
 public:
  explicit constexpr CallTimes(uint64_t bits) : bits_(bits) {}
  // `begun_ns`: on the monotonic clock. `timeout_ns`: 0 is none.
  static constexpr CallTimes Of(int64_t begun_ns, uint64_t timeout_ns) {
    const auto begun = static_cast<uint64_t>(begun_ns / kNsPerMs + kBias);
    return CallTimes((begun << kTimeoutBits) | Compact(timeout_ns));
  }

  [[nodiscard]] constexpr uint64_t bits() const { return bits_; }
  [[nodiscard]] constexpr int64_t begun_ms() const {
    return static_cast<int64_t>(bits_ >> kTimeoutBits) - kBias;
  }
  // 0: none.
  [[nodiscard]] constexpr uint64_t timeout_ms() const {
    const uint64_t compact = bits_ & ((uint64_t{1} << kTimeoutBits) - 1);
    return (compact & kMaxMantissa) << (compact >> kMantissaBits);
  }

 private:
  static constexpr int64_t kNsPerMs = 1'000'000;
  static constexpr int64_t kBias = int64_t{1} << 43;
  static constexpr int kTimeoutBits = 20;
  static constexpr int kMantissaBits = 15;
  static constexpr uint64_t kMaxMantissa = (uint64_t{1} << kMantissaBits) - 1;

  static constexpr uint64_t Compact(uint64_t timeout_ns) {
    if (timeout_ns == 0) return 0;
    const uint64_t ms = std::max<uint64_t>(timeout_ns / kNsPerMs, 1);
    const int shift =
        std::max<int>(static_cast<int>(std::bit_width(ms)) - kMantissaBits, 0);
    return (static_cast<uint64_t>(shift) << kMantissaBits) | (ms >> shift);
  }

  uint64_t bits_;
};

}  // namespace actord::runtime
