// The page /metrics: all counters of the counter tables, the rows of
// metric_table.h, and the few metrics that have a label.
//
// The number of series is bounded: a label is the index of a worker (at most
// 256), a method of the service, a process type (at most kMaxCountedTypes of
// Failures, and one for all others; for turns kMaxTypes of TurnTimes), or the
// version.
//
// Thread-safety: pure functions and plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/admin/metric_table.h"
#include "daemon/counters/stats.h"
#include "runtime/counters/stats.h"
#include "runtime/counters/turn_times.h"
#include "runtime/settings/limits.h"

namespace actord::daemon {

// One field for each row of metric_table.h; nullopt: the page leaves it out.
struct DaemonMetrics {
#define ACTORD_METRIC_FIELD(member, ...) std::optional<double> member;
  ACTORD_METRICS(ACTORD_METRIC_FIELD, ACTORD_METRIC_FIELD)
#undef ACTORD_METRIC_FIELD
};

struct MetricSources {
  runtime::RuntimeStats of_runtime;
  DaemonStats of_daemon;
  DaemonMetrics metrics;
  runtime::Limits limits;
  std::string version;
  // Calls that have begun, by method.
  std::vector<std::pair<std::string, uint64_t>> calls;
  // Processes that have failed, by type (Failures::CountsByType), and the types
  // that are in force.
  std::map<std::string, uint64_t> failures;
  std::vector<std::string> types;
  // Runtime::TurnTimesByType.
  std::map<std::string, runtime::TurnHistogram> turn_times;
};

std::string WriteMetrics(const MetricSources& sources);

// Sets the metrics of this program: memory, processor time, descriptors.
// Reads /proc/self.
void SetOwnUse(DaemonMetrics& metrics);

}  // namespace actord::daemon
