#include "runtime/system/clock.h"

#include <gtest/gtest.h>

namespace actord::runtime {
namespace {

TEST(SystemClock, CoarseTimeIsTheSameClockAMomentAgo) {
  const Clock& clock = Clock::System();
  constexpr uint64_t kLongestTickNs = 50'000'000;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t before = clock.MonotonicNs();
    const uint64_t coarse = clock.CoarseMonotonicNs();
    EXPECT_LE(coarse, clock.MonotonicNs());
    EXPECT_LE(before, coarse + kLongestTickNs);
  }
}

}  // namespace
}  // namespace actord::runtime
