#include "daemon/admin/metrics.h"

#include <sys/resource.h>

#include <array>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "daemon/admin/metric_text.h"
#include "daemon/counters/counter_values.h"
#include "daemon/limits/own_use.h"
#include "runtime/actors/failures.h"
#include "runtime/settings/limit_info.h"

namespace actord::daemon {
namespace {

constexpr const char* kPrefix = "actord_";

void WriteCounterTables(const MetricSources& sources, MetricText& text) {
  ForEachCounter(sources.of_runtime, sources.of_daemon,
                 [&](const runtime::CounterInfo& info, uint64_t value) {
                   text.Begin(absl::StrCat(kPrefix, info.name),
                              info.kind == runtime::CounterKind::kTotal
                                  ? MetricKind::kCounter
                                  : MetricKind::kGauge,
                              info.help);
                   text.Add(value);
                 });
}

void WriteTable(const DaemonMetrics& metrics, MetricText& text) {
  const auto write = [&](const std::optional<double>& value, MetricKind kind,
                         const char* name, const char* help) {
    if (!value.has_value()) return;
    text.Begin(name, kind, help);
    text.Add(*value);
  };
#define ACTORD_WRITE_TOTAL(member, name, help) \
  write(metrics.member, MetricKind::kCounter, name, help);
#define ACTORD_WRITE_GAUGE(member, name, help) \
  write(metrics.member, MetricKind::kGauge, name, help);
  ACTORD_METRICS(ACTORD_WRITE_TOTAL, ACTORD_WRITE_GAUGE)
#undef ACTORD_WRITE_TOTAL
#undef ACTORD_WRITE_GAUGE
}

void WriteWorkerMetrics(const runtime::RuntimeStats& stats, MetricText& text) {
  struct Row {
    const char* name;
    const char* help;
    MetricKind kind;
    uint64_t runtime::WorkerStats::*value;
  };
  static constexpr Row kRows[] = {
      {"actord_worker_turns_total", "Turns of a worker that ran a process.",
       MetricKind::kCounter, &runtime::WorkerStats::turns},
      {"actord_worker_steals_total",
       "How often a worker has stolen processes from another one.",
       MetricKind::kCounter, &runtime::WorkerStats::steals},
      {"actord_worker_wake_ups_total", "Sleeps of a worker that have ended.",
       MetricKind::kCounter, &runtime::WorkerStats::wake_ups},
      {"actord_worker_hand_overs_total",
       "How often another thread has taken over a worker whose thread was in a "
       "step for too long.",
       MetricKind::kCounter, &runtime::WorkerStats::hand_overs},
      {"actord_worker_processes_ready",
       "Processes that are ready in the queue of a worker.", MetricKind::kGauge,
       &runtime::WorkerStats::ready},
  };
  for (const Row& row : kRows) {
    text.Begin(row.name, row.kind, row.help);
    for (size_t i = 0; i < stats.of_workers.size(); ++i) {
      text.Add("worker", absl::StrCat(i), stats.of_workers[i].*row.value);
    }
  }
}

void WriteCalls(const MetricSources& sources, MetricText& text) {
  text.Begin("actord_calls_total", MetricKind::kCounter,
             "Calls that have begun, of gRPC and of the JSON API, by method, "
             "refused ones included. A stream is one call.");
  for (const auto& [method, calls] : sources.calls) {
    text.Add("method", method, calls);
  }
}

// A type in force that has not failed yet is 0, so that its first failure is an
// increase.
void WriteFailures(const MetricSources& sources, MetricText& text) {
  std::map<std::string, uint64_t> counts = sources.failures;
  for (const std::string& type : sources.types) {
    if (counts.size() >= runtime::Failures::kMaxCountedTypes) break;
    counts.emplace(type, 0);
  }
  counts.emplace(runtime::Failures::kOtherTypes, 0);
  text.Begin("actord_process_type_failures_total", MetricKind::kCounter,
             "Processes of a type that failed. The first 200 types have a "
             "series, and all further ones share \"(other)\".");
  for (const auto& [type, failures] : counts) text.Add("type", type, failures);
}

void WriteTypeLimits(const runtime::RuntimeStats& stats, MetricText& text) {
  if (stats.of_limited_types.empty()) return;
  text.Begin("actord_process_type_live", MetricKind::kGauge,
             "Live processes of a type in limits.max_processes_per_type.");
  for (const auto& type : stats.of_limited_types) {
    text.Add("type", type.name, type.live);
  }
  text.Begin("actord_process_type_max", MetricKind::kGauge,
             "Limit of a type in limits.max_processes_per_type.");
  for (const auto& type : stats.of_limited_types) {
    text.Add("type", type.name, type.max);
  }
}

void WriteTurnTimes(const MetricSources& sources, MetricText& text) {
  if (sources.turn_times.empty()) return;
  text.Begin("actord_turn_seconds", MetricKind::kHistogram,
             "How long turns of a process type take: a random sample of one in "
             "64. A turn is usually one step and its effects. The first 200 "
             "types have series, and all further ones share \"(other)\".");
  for (const auto& [type, histogram] : sources.turn_times) {
    constexpr auto& kBoundsNs = runtime::TurnHistogram::kBoundsNs;
    constexpr double kNsPerSecond = 1e9;
    std::array<MetricText::Bucket, kBoundsNs.size()> buckets{};
    for (size_t i = 0; i < buckets.size(); ++i) {
      buckets[i] = {static_cast<double>(kBoundsNs[i]) / kNsPerSecond,
                    histogram.turns[i]};
    }
    text.AddHistogram("type", type, buckets, histogram.turns.back(),
                      static_cast<double>(histogram.sum_ns) / kNsPerSecond);
  }
}

void WriteLimitMetrics(const runtime::Limits& limits, MetricText& text) {
  for (const runtime::LimitRow& row : runtime::LimitRows()) {
    const std::string name = absl::StrCat(
        "actord_limit_", *row.field != '\0' ? row.field : row.name);
    const std::string help =
        absl::StrCat("The setting ", row.key, ". Absent: no limit.");
    if (row.number != nullptr) {
      const uint64_t limit = limits.*row.number;
      if (row.kind == runtime::LimitKind::kCountOrNone && limit == 0) continue;
      text.Begin(name, MetricKind::kGauge, help);
      text.Add(limit);
    } else if (limits.*row.duration != absl::InfiniteDuration()) {
      text.Begin(absl::StrCat(name, "_seconds"), MetricKind::kGauge, help);
      text.Add(absl::ToDoubleSeconds(limits.*row.duration));
    }
  }
}

}  // namespace

std::string WriteMetrics(const MetricSources& sources) {
  MetricText text;
  text.Begin("actord_build_info", MetricKind::kGauge,
             "1; the label is the version of the daemon.");
  text.Add("version", sources.version, 1);
  WriteTable(sources.metrics, text);
  WriteCounterTables(sources, text);
  WriteCalls(sources, text);
  WriteFailures(sources, text);
  WriteTypeLimits(sources.of_runtime, text);
  WriteTurnTimes(sources, text);
  WriteWorkerMetrics(sources.of_runtime, text);
  WriteLimitMetrics(sources.limits, text);
  return text.Take();
}

void SetOwnUse(DaemonMetrics& metrics) {
  constexpr double kNsPerSecond = 1e9;
  const OwnUse own = ReadOwnUse();
  if (own.resident_bytes != 0) {
    metrics.resident_memory = static_cast<double>(own.resident_bytes);
  }
  metrics.cpu = static_cast<double>(own.cpu_ns) / kNsPerSecond;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
      limit.rlim_cur != RLIM_INFINITY) {
    metrics.max_descriptors = static_cast<double>(limit.rlim_cur);
  }
}

}  // namespace actord::daemon
