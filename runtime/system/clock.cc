#include "runtime/system/clock.h"

#include <time.h>

#include <chrono>

namespace actord::runtime {
namespace {

class SystemClock final : public Clock {
 public:
  uint64_t MonotonicNs() const override {
    return Since(std::chrono::steady_clock::now());
  }
  uint64_t CoarseMonotonicNs() const override {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(now.tv_nsec);
  }
  uint64_t UnixNs() const override {
    return Since(std::chrono::system_clock::now());
  }

 private:
  template <typename TimePoint>
  static uint64_t Since(TimePoint now) {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(
            now.time_since_epoch())
            .count());
  }
};

}  // namespace

const Clock& Clock::System() {
  static const SystemClock clock;
  return clock;
}

}  // namespace actord::runtime
