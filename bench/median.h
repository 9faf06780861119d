// Order statistics of a few measurements.
//
// Thread-safety: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace actord::bench {

// The `quantile` (0 to 1) of `values` by the nearest rank. Precondition:
// `values` is not empty.
inline double Quantile(std::vector<double> values, double quantile) {
  const auto last = static_cast<double>(values.size() - 1);
  const auto rank = static_cast<std::ptrdiff_t>(last * quantile + 0.5);
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[static_cast<size_t>(rank)];
}

inline double Median(std::vector<double> values) {
  return Quantile(std::move(values), 0.5);
}

}  // namespace actord::bench
