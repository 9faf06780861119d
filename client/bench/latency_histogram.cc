#include "client/bench/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace actord::client::bench {
namespace {

// Five times this power of ten fits into 63 bits, and ten times does not.
constexpr int64_t kGreatestPower = 1'000'000'000'000'000'000;

}  // namespace

size_t LatencyHistogram::BucketOf(uint64_t ns) {
  const auto width = static_cast<size_t>(std::bit_width(ns));
  const size_t shift = width > kSubBucketBits ? width - kSubBucketBits : 0;
  return shift * (kSubBuckets / 2) + static_cast<size_t>(ns >> shift);
}

uint64_t LatencyHistogram::LeastOf(size_t bucket) {
  if (bucket < kSubBuckets) return bucket;
  const size_t shift = bucket / (kSubBuckets / 2) - 1;
  return static_cast<uint64_t>(bucket - shift * (kSubBuckets / 2)) << shift;
}

void LatencyHistogram::Record(Latency latency) {
  latency = std::max(latency, Latency{0});
  min_ = count_ == 0 ? latency : std::min(min_, latency);
  max_ = std::max(max_, latency);
  sum_ns_ += static_cast<double>(latency.count());
  ++buckets_[BucketOf(static_cast<uint64_t>(latency.count()))];
  ++count_;
}

LatencyHistogram::Latency LatencyHistogram::mean() const {
  if (count_ == 0) return Latency{0};
  return Latency{static_cast<int64_t>(sum_ns_ / static_cast<double>(count_))};
}

LatencyHistogram::Latency LatencyHistogram::Quantile(double part) const {
  const auto rank =
      static_cast<uint64_t>(std::ceil(part * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen > 0 && seen >= rank) {
      const uint64_t greatest = LeastOf(bucket + 1) - 1;
      return std::min(max_, Latency{static_cast<int64_t>(greatest)});
    }
  }
  return max_;
}

std::vector<LatencyHistogram::Bar> LatencyHistogram::Bars() const {
  std::vector<Bar> bars;
  size_t bucket = 0;
  uint64_t left = count_;
  for (int64_t power = 1; left > 0; power *= 10) {
    for (const int64_t digit : {1, 2, 5}) {
      const int64_t up_to = digit * power;
      uint64_t count = 0;
      while (bucket < kBuckets &&
             LeastOf(bucket) <= static_cast<uint64_t>(up_to)) {
        count += buckets_[bucket++];
      }
      left -= count;
      if (count > 0 || !bars.empty()) bars.push_back({Latency{up_to}, count});
      if (left == 0) return bars;
    }
    // The next power of ten would not fit into 63 bits.
    if (power == kGreatestPower) {
      bars.push_back({max_, left});
      return bars;
    }
  }
  return bars;
}

}  // namespace actord::client::bench
