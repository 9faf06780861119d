// The table of counters as data, for code that treats all counters alike.
//
// Thread-safety: constants.
#pragma once

#include <cstdint>

#include "runtime/counters/counter_table.h"
#include "runtime/counters/counters.h"
#include "runtime/counters/stats.h"

namespace actord::runtime {

enum class CounterKind {
  kTotal,  // only grows, from 0 at the start
  kGauge,  // a size now
};

// The part of a counter that users see beside its value.
struct CounterInfo {
  const char* name;
  const char* unit;
  const char* help;
  CounterKind kind;
};

// A counter whose value is a field of `Stats`.
template <typename Stats>
struct CounterRow {
  CounterInfo info;
  uint64_t Stats::*value;
};

// A counter that lanes count; its value is the sum over all lanes.
struct LaneCounter {
  uint64_t RuntimeStats::*value;
  Counter Counters::*lane;
};

// Rows of a table, for the kinds TOTAL and GAUGE of a struct of values.
#define ACTORD_TOTAL_ROW(stats, member, name, unit, help) \
  {{name, unit, help, ::actord::runtime::CounterKind::kTotal}, &stats::member},
#define ACTORD_GAUGE_ROW(stats, member, name, unit, help) \
  {{name, unit, help, ::actord::runtime::CounterKind::kGauge}, &stats::member},

#define ACTORD_RUNTIME_TOTAL(...) ACTORD_TOTAL_ROW(RuntimeStats, __VA_ARGS__)
#define ACTORD_RUNTIME_GAUGE(...) ACTORD_GAUGE_ROW(RuntimeStats, __VA_ARGS__)
inline constexpr CounterRow<RuntimeStats> kCounterRows[] = {ACTORD_COUNTERS(
    ACTORD_RUNTIME_TOTAL, ACTORD_RUNTIME_TOTAL, ACTORD_RUNTIME_GAUGE)};
#undef ACTORD_RUNTIME_TOTAL
#undef ACTORD_RUNTIME_GAUGE

#define ACTORD_LANE_ROW(member, ...) {&RuntimeStats::member, &Counters::member},
#define ACTORD_NO_ROW(...)
inline constexpr LaneCounter kLaneCounters[] = {
    ACTORD_COUNTERS(ACTORD_LANE_ROW, ACTORD_NO_ROW, ACTORD_NO_ROW)};
#undef ACTORD_LANE_ROW
#undef ACTORD_NO_ROW

}  // namespace actord::runtime
