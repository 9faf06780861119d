// Counts latencies in buckets whose width grows with the latency, so that its
// size is fixed and the error of each figure is below 1 %.
//
// The buckets are those of HdrHistogram (Gil Tene, hdrhistogram.org) with 256
// sub-buckets: each power of two of nanoseconds from 256 on is divided into 128
// buckets of the same width. Below 256 ns each nanosecond has a bucket.
//
// Thread-safety: not thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace actord::client::bench {

class LatencyHistogram {
 public:
  using Latency = std::chrono::nanoseconds;

  // A negative latency counts as 0.
  void Record(Latency latency);

  [[nodiscard]] uint64_t count() const { return count_; }
  // Exact. 0 if there is no latency.
  [[nodiscard]] Latency min() const { return min_; }
  [[nodiscard]] Latency max() const { return max_; }
  [[nodiscard]] Latency mean() const;

  // The smallest latency that is not exceeded by `part` (0 to 1) of all,
  // rounded up to the end of its bucket, but at most max(). 0 if there is no
  // latency.
  [[nodiscard]] Latency Quantile(double part) const;

  // Latencies up to `up_to` and above that of the bar before.
  struct Bar {
    Latency up_to;
    uint64_t count;
  };
  // Bars that end at 1, 2 or 5 times a power of ten, from that of the least to
  // that of the greatest latency. A bucket across the end of a bar counts for
  // the lower bar. Empty if there is no latency.
  [[nodiscard]] std::vector<Bar> Bars() const;

 private:
  static constexpr size_t kSubBucketBits = 8;
  static constexpr size_t kSubBuckets = size_t{1} << kSubBucketBits;
  // Latencies have 63 bits. Of the shifts after the first, each adds one half
  // of the sub-buckets.
  static constexpr size_t kBuckets =
      kSubBuckets + (63 - kSubBucketBits) * (kSubBuckets / 2);

  static size_t BucketOf(uint64_t ns);
  static uint64_t LeastOf(size_t bucket);

  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t count_ = 0;
  double sum_ns_ = 0;
  Latency min_{0};
  Latency max_{0};
};

}  // namespace actord::client::bench
