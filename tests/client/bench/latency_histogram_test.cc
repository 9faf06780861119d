#include "client/bench/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

namespace actord::client::bench {
namespace {

using std::chrono::nanoseconds;

TEST(LatencyHistogram, IsEmptyAtFirst) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.Quantile(0.99).count(), 0);
  EXPECT_EQ(histogram.max().count(), 0);
  EXPECT_EQ(histogram.mean().count(), 0);
  EXPECT_TRUE(histogram.Bars().empty());
}

TEST(LatencyHistogram, OneLatencyIsEveryQuantile) {
  for (const int64_t ns :
       {int64_t{0}, int64_t{1}, int64_t{255}, int64_t{256}, int64_t{257},
        int64_t{1'000'003}, int64_t{INT64_MAX}}) {
    LatencyHistogram histogram;
    histogram.Record(nanoseconds(ns));
    EXPECT_EQ(histogram.Quantile(0.5).count(), ns);
    EXPECT_EQ(histogram.Quantile(1).count(), ns);
    EXPECT_EQ(histogram.min().count(), ns);
    EXPECT_EQ(histogram.max().count(), ns);
  }
}

TEST(LatencyHistogram, NegativeLatencyCountsAsZero) {
  LatencyHistogram histogram;
  histogram.Record(nanoseconds(-5));
  EXPECT_EQ(histogram.max().count(), 0);
  EXPECT_EQ(histogram.count(), 1U);
}

// A rank of the sorted latencies is the exact quantile.
TEST(LatencyHistogram, QuantilesAreWithinOnePercentOfTheExactOnes) {
  std::mt19937_64 random(17);
  std::lognormal_distribution<double> latencies(13, 2);
  LatencyHistogram histogram;
  std::vector<int64_t> exact;
  for (int i = 0; i < 20'000; ++i) {
    exact.push_back(static_cast<int64_t>(latencies(random)));
    histogram.Record(nanoseconds(exact.back()));
  }
  std::sort(exact.begin(), exact.end());
  for (const double part : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<size_t>(part * 20'000 + 0.5) - 1;
    const auto truth = static_cast<double>(exact[rank]);
    const auto quantile = static_cast<double>(histogram.Quantile(part).count());
    EXPECT_GE(quantile, truth) << part;
    EXPECT_LE(quantile, truth * 1.01) << part;
  }
  EXPECT_EQ(histogram.min().count(), exact.front());
  EXPECT_EQ(histogram.max().count(), exact.back());
}

TEST(LatencyHistogram, MeanIsExact) {
  LatencyHistogram histogram;
  for (const int64_t ns : {100, 200, 900}) histogram.Record(nanoseconds(ns));
  EXPECT_EQ(histogram.mean().count(), 400);
}

TEST(LatencyHistogram, BarsHaveRoundEndsAndCountEachLatencyOnce) {
  LatencyHistogram histogram;
  for (const int64_t us : {3, 4, 60, 70, 80}) {
    histogram.Record(std::chrono::microseconds(us));
  }
  const auto bars = histogram.Bars();
  std::vector<std::pair<int64_t, uint64_t>> found;
  for (const auto& bar : bars) {
    found.emplace_back(bar.up_to.count(), bar.count);
  }
  const std::vector<std::pair<int64_t, uint64_t>> wanted = {
      {5'000, 2}, {10'000, 0}, {20'000, 0}, {50'000, 0}, {100'000, 3}};
  EXPECT_EQ(found, wanted);
}

TEST(LatencyHistogram, BarsReachTheLongestLatency) {
  LatencyHistogram histogram;
  histogram.Record(nanoseconds(INT64_MAX));
  histogram.Record(nanoseconds(1));
  uint64_t count = 0;
  for (const auto& bar : histogram.Bars()) count += bar.count;
  EXPECT_EQ(count, 2U);
}

}  // namespace
}  // namespace actord::client::bench
