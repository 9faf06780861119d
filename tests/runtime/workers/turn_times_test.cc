#include "runtime/counters/turn_times.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

namespace actord::runtime {
namespace {

std::map<uint16_t, TurnHistogram> HistogramsOf(const TurnTimes& times) {
  std::map<uint16_t, TurnHistogram> all;
  times.ForEach([&all](uint16_t type, const TurnHistogram& histogram) {
    all.emplace(type, histogram);
  });
  return all;
}

TEST(TurnTimes, BoundBelongsToItsBucket) {
  TurnTimes times;
  EXPECT_TRUE(HistogramsOf(times).empty());
  constexpr auto& kBounds = TurnHistogram::kBoundsNs;
  times.Add(3, 0);
  for (const uint64_t bound : kBounds) {
    times.Add(3, bound);
    times.Add(3, bound + 1);
  }
  const auto all = HistogramsOf(times);
  ASSERT_EQ(all.size(), 1u);
  const TurnHistogram& histogram = all.at(3);
  for (size_t i = 0; i < kBounds.size(); ++i) {
    EXPECT_EQ(histogram.turns[i], 2u) << i;
  }
  EXPECT_EQ(histogram.turns.back(), 1u);
  uint64_t sum = kBounds.size();
  for (const uint64_t bound : kBounds) sum += 2 * bound;
  EXPECT_EQ(histogram.sum_ns, sum);
}

TEST(TurnTimes, TypesAboveTheLimitShareOneHistogram) {
  TurnTimes times;
  for (uint32_t type = 0; type <= UINT16_MAX; ++type) {
    times.Add(static_cast<uint16_t>(type), 1);
  }
  const auto all = HistogramsOf(times);
  EXPECT_EQ(all.size(), TurnTimes::kMaxTypes + 1u);
  EXPECT_EQ(all.at(1).turns[0], 1u);
  EXPECT_EQ(all.at(TurnTimes::kMaxTypes).turns[0], 1u);
  EXPECT_EQ(all.at(TurnTimes::kOther).turns[0],
            UINT16_MAX + 1u - TurnTimes::kMaxTypes);
}

}  // namespace
}  // namespace actord::runtime
