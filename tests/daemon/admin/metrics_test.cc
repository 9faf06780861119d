#include "daemon/admin/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "actord/v1/actor_service.pb.h"
#include "daemon/admin/metric_text.h"
#include "runtime/actors/failures.h"

namespace actord::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// As many series as there can be: each metric is set.
MetricSources Largest() {
  constexpr size_t kMaxWorkers = 256;
  MetricSources sources;
  sources.version = "1.2.3";
  sources.of_runtime.of_workers.resize(kMaxWorkers);
  const auto* const service =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
          "actord.v1.ActorService");
  for (int i = 0; i < service->method_count(); ++i) {
    sources.calls.emplace_back(service->method(i)->name(), i);
  }
#define ACTORD_SET(member, ...) sources.metrics.member = 1.5;
  ACTORD_METRICS(ACTORD_SET, ACTORD_SET)
#undef ACTORD_SET
  for (size_t i = 0; i <= runtime::Failures::kMaxCountedTypes; ++i) {
    sources.failures[absl::StrCat("type", i)] = i;
    sources.types.push_back(absl::StrCat("idle", i));
  }
  for (size_t i = 0; i <= runtime::TurnTimes::kMaxTypes; ++i) {
    sources.turn_times[absl::StrCat("type", i)] = {};
  }
  sources.limits.max_steps = 9;
  sources.limits.max_lifetime = absl::Milliseconds(1500);
  return sources;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  EXPECT_EQ(lines.back(), "");
  lines.pop_back();
  return lines;
}

TEST(MetricText, WritesHelpTypeAndSamples) {
  MetricText text;
  text.Begin("a_total", MetricKind::kCounter, "Of a\\b.\nMore.");
  text.Add(uint64_t{18446744073709551615U});
  text.Begin("b", MetricKind::kGauge, "Of b.");
  text.Add("name", "x\"y\\z\n", 3);
  text.Begin("c_seconds", MetricKind::kGauge, "Of c.");
  text.Add(1764200000.125);
  EXPECT_EQ(text.Take(),
            "# HELP a_total Of a\\\\b.\\nMore.\n"
            "# TYPE a_total counter\n"
            "a_total 18446744073709551615\n"
            "# HELP b Of b.\n"
            "# TYPE b gauge\n"
            "b{name=\"x\\\"y\\\\z\\n\"} 3\n"
            "# HELP c_seconds Of c.\n"
            "# TYPE c_seconds gauge\n"
            "c_seconds 1764200000.125\n");
}

TEST(Metrics, SeriesAreBounded) {
  size_t series = 0;
  for (const std::string& line : Lines(WriteMetrics(Largest()))) {
    series += line.front() == '#' ? 0 : 1;
  }
  EXPECT_GT(series, 256U * 5);
  EXPECT_LT(series, 5100U);
}

// The rules by which `promtool check metrics` judges names, and more.
TEST(Metrics, NamesAreUniqueAndSayTheirKindAndUnit) {
  std::set<std::string> names;
  std::string name;
  for (const std::string& line : Lines(WriteMetrics(Largest()))) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    ASSERT_GE(words.size(), 2U) << line;
    if (words[0] != "#") {
      std::string of = words[0].substr(0, words[0].find('{'));
      for (const char* part : {"_bucket", "_sum", "_count"}) {
        if (of == absl::StrCat(name, part)) of = name;  // a histogram
      }
      EXPECT_EQ(of, name) << line;
      continue;
    }
    name = words[2];
    if (words[1] == "HELP") {
      EXPECT_TRUE(names.insert(name).second) << name << " begins twice";
      EXPECT_GT(words.size(), 4U) << line;
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789"),
                std::string::npos)
          << name;
      EXPECT_TRUE(absl::StartsWith(name, "actord_") ||
                  absl::StartsWith(name, "process_"))
          << name;
    } else {
      EXPECT_EQ(words[3] == "counter", absl::EndsWith(name, "_total")) << line;
    }
  }
  EXPECT_TRUE(names.contains("actord_steps_total"));
  EXPECT_TRUE(names.contains("actord_connections_open"));
}

TEST(Metrics, MetricsOfAbsentPartsAreLeftOut) {
  MetricSources sources;
  const std::string text = WriteMetrics(sources);
  EXPECT_THAT(text, Not(HasSubstr("actord_certificate")));
  EXPECT_THAT(text, Not(HasSubstr("actord_store_disk")));
  EXPECT_THAT(text, Not(HasSubstr("actord_limit_max_steps_per_process")));
  EXPECT_THAT(text, Not(HasSubstr("actord_limit_max_lifetime")));
}

TEST(Metrics, EachTypeInForceHasItsFailures) {
  MetricSources sources;
  sources.types = {"order", "hostile\"\n"};
  sources.failures = {{"order", 3}, {"gone", 1}};
  EXPECT_THAT(
      WriteMetrics(sources),
      HasSubstr(
          "\nactord_process_type_failures_total{type=\"(other)\"} 0\n"
          "actord_process_type_failures_total{type=\"gone\"} 1\n"
          "actord_process_type_failures_total{type=\"hostile\\\"\\n\"} 0\n"
          "actord_process_type_failures_total{type=\"order\"} 3\n"));
}

TEST(Metrics, TypesWithALimitOfTheirOwnHaveTheirUse) {
  MetricSources sources;
  EXPECT_THAT(WriteMetrics(sources), Not(HasSubstr("actord_process_type_max")));
  sources.of_runtime.of_limited_types = {
      {.name = "order", .live = 7, .max = 9, .refused = 1}};
  const std::string text = WriteMetrics(sources);
  EXPECT_THAT(text,
              HasSubstr("\nactord_process_type_live{type=\"order\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("\nactord_process_type_max{type=\"order\"} 9\n"));
}

TEST(Metrics, TurnsOfATypeAreAHistogram) {
  MetricSources sources;
  EXPECT_THAT(WriteMetrics(sources), Not(HasSubstr("actord_turn_seconds")));
  runtime::TurnHistogram& order = sources.turn_times["order"];
  order.turns = {1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 4};
  order.sum_ns = 8'000'040'500;
  EXPECT_THAT(
      WriteMetrics(sources),
      HasSubstr("\n# TYPE actord_turn_seconds histogram\n"
                "actord_turn_seconds_bucket{type=\"order\",le=\"1e-06\"} 1\n"
                "actord_turn_seconds_bucket{type=\"order\",le=\"5e-06\"} 1\n"
                "actord_turn_seconds_bucket{type=\"order\",le=\"2.5e-05\"} 3\n"
                "actord_turn_seconds_bucket{type=\"order\",le=\"0.0001\"} 3\n"
                "actord_turn_seconds_bucket{type=\"order\",le=\"0.0005\"} 3\n"
                "actord_turn_seconds_bucket{type=\"order\",le=\"0.0025\"} 3\n"
                "actord_turn_seconds_bucket{type=\"order\",le=\"0.01\"} 3\n"
                "actord_turn_seconds_bucket{type=\"order\",le=\"0.05\"} 3\n"
                "actord_turn_seconds_bucket{type=\"order\",le=\"0.25\"} 3\n"
                "actord_turn_seconds_bucket{type=\"order\",le=\"1\"} 3\n"
                "actord_turn_seconds_bucket{type=\"order\",le=\"+Inf\"} 7\n"
                "actord_turn_seconds_sum{type=\"order\"} 8.0000405\n"
                "actord_turn_seconds_count{type=\"order\"} 7\n"));
}

TEST(Metrics, LimitsHaveBaseUnits) {
  const std::string text = WriteMetrics(Largest());
  EXPECT_THAT(text, HasSubstr("\nactord_limit_max_steps_per_process 9\n"));
  EXPECT_THAT(text, HasSubstr("\nactord_limit_max_lifetime_seconds 1.5\n"));
  EXPECT_THAT(text, HasSubstr("\nactord_limit_max_payload_bytes 1048576\n"));
}

TEST(Metrics, OwnUseIsRead) {
  DaemonMetrics metrics;
  SetOwnUse(metrics);
  EXPECT_GT(metrics.resident_memory.value_or(0), 1 << 20);
  EXPECT_GT(metrics.cpu.value_or(0), 0);
  EXPECT_GT(metrics.max_descriptors.value_or(0), 10);
}

TEST(Metrics, TheDocsHaveARowForEachMetricOfTheTableAndNoOther) {
  std::string rows;
#define ACTORD_TOTAL_ROW_TEXT(member, name, help) \
  absl::StrAppend(&rows, "| `", name, "` | total | ", help, " |\n");
#define ACTORD_GAUGE_ROW_TEXT(member, name, help) \
  absl::StrAppend(&rows, "| `", name, "` | gauge | ", help, " |\n");
  ACTORD_METRICS(ACTORD_TOTAL_ROW_TEXT, ACTORD_GAUGE_ROW_TEXT)
#undef ACTORD_TOTAL_ROW_TEXT
#undef ACTORD_GAUGE_ROW_TEXT
  std::ifstream file(ACTORD_TEST_OPERATION_DOCS);
  ASSERT_TRUE(file) << ACTORD_TEST_OPERATION_DOCS;
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("|---|---|---|\n" + rows + "\n"), std::string::npos)
      << "the table should be:\n"
      << rows;
}

}  // namespace
}  // namespace actord::daemon
