// The table of limits as data, for code that treats all limits alike: checks,
// the configuration and the status.
//
// Thread-safety: constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/time/time.h"
#include "runtime/settings/limits.h"

namespace actord::runtime {

enum class LimitKind {
  kCount,
  kCountOrNone,  // 0: no limit
  kBytes,
  kDuration,
  kDurationOrNone,  // infinite: no limit
};

// A range of durations that ends at infinity.
struct DurationRange {
  absl::Duration least;
  bool includes_least;
  // Completes "it must ..." in an error.
  const char* rule;

  [[nodiscard]] bool Holds(absl::Duration value) const {
    return value > least || (includes_least && value == least);
  }
};
inline constexpr DurationRange kPositive = {absl::ZeroDuration(), false,
                                            "be positive"};
inline constexpr DurationRange kNotNegative = {absl::ZeroDuration(), true,
                                               "not be negative"};
inline constexpr DurationRange kMillisecond = {absl::Milliseconds(1), true,
                                               "be at least 1ms"};

// The columns of limit_table.h.
struct LimitRow {
  LimitKind kind;
  const char* name;
  const char* key;
  const char* option;
  const char* field;
  const char* help;

  // For a count or a size; null for a duration.
  size_t Limits::*number = nullptr;
  uint64_t min = 0;
  uint64_t max = UINT64_MAX;
  // For a duration; null for a count or a size.
  absl::Duration Limits::*duration = nullptr;
  DurationRange range = kNotNegative;
};

// All rows, in the order of the table.
std::span<const LimitRow> LimitRows();

}  // namespace actord::runtime
