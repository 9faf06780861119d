// Writes metrics in the text format of Prometheus, version 0.0.4:
//
//   # HELP actord_workers Workers of the scheduler.
//   # TYPE actord_workers gauge
//   actord_workers 4
//
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace actord::daemon {

enum class MetricKind {
  kCounter,  // only grows, from 0 at the start
  kGauge,
  kHistogram,
};

class MetricText {
 public:
  // Begins a metric. All of its samples follow before the next metric begins,
  // and each name begins once.
  void Begin(std::string_view name, MetricKind kind, std::string_view help);
  // Adds a sample of the metric that has begun.
  void Add(uint64_t value);
  void Add(double value);
  void Add(std::string_view label, std::string_view label_value,
           uint64_t value);

  // Adds the samples of a histogram: the buckets in the order of their upper
  // bounds, and one without a bound behind them.
  struct Bucket {
    double bound;
    uint64_t count;  // of this bucket alone
  };
  void AddHistogram(std::string_view label, std::string_view label_value,
                    std::span<const Bucket> buckets, uint64_t above,
                    double sum);

  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  // Adds a sample of a part of the metric.
  void AddPart(std::string_view suffix, std::string_view labels,
               std::string_view value);

  std::string text_;
  std::string name_;
};

}  // namespace actord::daemon
