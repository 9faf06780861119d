// Tests "actorctl bench" against a fake daemon; tests/e2e/cli/bench_cli_test.py
// measures a real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "client/bench/report.h"
#include "nlohmann/json.hpp"
#include "tests/client/commands/commands_fixture.h"

namespace actord::client {
namespace {

using nlohmann::json;
using std::chrono::nanoseconds;
using testing::ContainsRegex;
using testing::HasSubstr;

class BenchCommand : public Commands {};

TEST_F(BenchCommand, SubmitsInputsOfTheSizeAndAwaitsTheResults) {
  const CliResult result = Run({"bench", "submit", "--duration", "200ms",
                                "--payload-size", "3", "-o", "json"});
  EXPECT_EQ(result.status, ExitStatus::kDone) << result.err;
  const json measured = json::parse(result.out);
  EXPECT_EQ(measured["mode"], "submit");
  EXPECT_EQ(measured["process_type"], "echo");
  EXPECT_EQ(measured["payload_bytes"], 3);
  EXPECT_EQ(measured["errors"], 0);
  EXPECT_EQ(measured["rate_per_second"], nullptr);
  // The first process is started before the measurement.
  EXPECT_EQ(measured["requests"], daemon_.log().submits.size() - 1);
  EXPECT_EQ(measured["answered"], measured["requests"]);
  EXPECT_EQ(daemon_.log().submits.at(0).input().data(), "000");
  // The processes have ended, but of the first one nobody knows.
  EXPECT_EQ(daemon_.log().cancels.size(), 1U);
}

TEST_F(BenchCommand, CallsItsProcessesInTurnAndCancelsThem) {
  for (const char* pid : {"p-0", "p-1"}) {
    daemon_.calls[{pid, "total"}] = {"7"};
  }
  const CliResult result =
      Run({"bench", "call", "--type", "echo", "--topic", "total", "--processes",
           "2", "--payload", "pay", "--duration", "200ms", "-o", "json"});
  EXPECT_EQ(result.status, ExitStatus::kDone) << result.err;
  const auto log = daemon_.log();
  EXPECT_EQ(log.submits.size(), 2U);
  std::set<std::string> called;
  for (const auto& call : log.calls) called.insert(call.pid());
  EXPECT_EQ(called, (std::set<std::string>{"p-0", "p-1"}));
  EXPECT_EQ(log.calls.at(0).payload().data(), "pay");
  EXPECT_EQ(log.cancels.size(), 2U);
  EXPECT_GT(log.cancels.at(0).deadline().seconds(), 0);
  EXPECT_EQ(json::parse(result.out)["requests"], log.calls.size());
}

TEST_F(BenchCommand, SendsToOneProcessWithoutWaitingForEarlierSends) {
  const CliResult result =
      Run({"bench", "send", "--type", "echo", "--processes", "1", "--in-flight",
           "8", "--duration", "200ms"});
  EXPECT_EQ(result.status, ExitStatus::kDone) << result.err;
  EXPECT_GT(daemon_.log().most_sends_to_one, 1U);
}

TEST_F(BenchCommand, CountsErrorsByReason) {
  // A process that fails is an error with the reason of its failure.
  const CliResult result = Run({"bench", "submit", "--type", "fail",
                                "--duration", "200ms", "-o", "json"});
  EXPECT_EQ(result.status, ExitStatus::kFailed);
  const json measured = json::parse(result.out);
  EXPECT_EQ(measured["answered"], 0);
  EXPECT_EQ(measured["latency_seconds"], nullptr);
  ASSERT_EQ(measured["errors_by_reason"].size(), 1U);
  EXPECT_EQ(measured["errors_by_reason"][0]["reason"], "FAILED");
  EXPECT_EQ(measured["errors_by_reason"][0]["count"], measured["requests"]);
  // In a table, too.
  EXPECT_THAT(
      Run({"bench", "submit", "--type", "fail", "--duration", "20ms"}).out,
      ContainsRegex("Errors: +[0-9,]+\n  FAILED: +[0-9,]+\n"));
}

TEST_F(BenchCommand, DoesNotBeginIfNoProcessStarts) {
  for (const char* mode : {"call", "send", "submit"}) {
    const CliResult result =
        Run({"bench", mode, "--type", "forbid", "--duration", "1h"});
    EXPECT_EQ(result.status, ExitStatus::kNotAllowed);
    EXPECT_EQ(result.out, "");
  }
}

TEST_F(BenchCommand, NamesTypesIfTheTypeIsMissing) {
  daemon_.status.add_process_types()->set_name("cart");
  daemon_.status.add_process_types()->set_name("lamp");
  const CliResult result = Run({"bench"});
  EXPECT_EQ(result.status, ExitStatus::kNotFound);
  EXPECT_THAT(result.err, HasSubstr("--type names another"));
  EXPECT_THAT(result.err, HasSubstr("The daemon has cart, lamp"));
}

TEST_F(BenchCommand, CommandsTimeoutStopsIt) {
  const CliResult result = Run({"bench", "submit", "--duration", "1h",
                                "--timeout", "500ms", "-o", "json"});
  EXPECT_EQ(result.status, ExitStatus::kDeadline);
  EXPECT_THAT(result.err, HasSubstr("--timeout has passed"));
  EXPECT_GT(json::parse(result.out)["answered"], 0);
}

TEST_F(BenchCommand, RefusesWrongOptions) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{
           {"bench", "ring"},
           {"bench", "--duration", "0"},
           {"bench", "--duration", "25h"},
           {"bench", "--duration", "10"},
           {"bench", "--rate", "0"},
           {"bench", "--in-flight", "0"},
           {"bench", "--in-flight", "10001"},
           {"bench", "--connections", "0"},
           {"bench", "--processes", "0"},
           {"bench", "submit", "--topic", "add"},
           {"bench", "--payload", "1", "--payload-size", "1"},
           {"bench", "--durable", "--volatile"}}) {
    EXPECT_EQ(Run(wrong).status, ExitStatus::kUsage) << wrong.back();
  }
  EXPECT_TRUE(daemon_.log().submits.empty());
}

TEST(BenchReport, WritesLatenciesWithThreeDigits) {
  const auto text = [](int64_t ns) {
    return bench::LatencyText(nanoseconds(ns));
  };
  EXPECT_EQ(text(0), "0 ns");
  EXPECT_EQ(text(870), "870 ns");
  EXPECT_EQ(text(999), "999 ns");
  EXPECT_EQ(text(1'000), "1.00 us");
  EXPECT_EQ(text(45'600), "45.6 us");
  EXPECT_EQ(text(999'400), "999 us");
  EXPECT_EQ(text(999'600), "1.00 ms");
  EXPECT_EQ(text(100'000'000), "100 ms");
  EXPECT_EQ(text(2'050'000'000), "2.05 s");
  EXPECT_EQ(text(3'600'000'000'000), "3600 s");
}

TEST(BenchReport, WritesSecondsAndNumbersPerSecond) {
  bench::Measurement measurement;
  measurement.load = {
      .duration = std::chrono::seconds(2), .in_flight = 4, .rate = 100};
  measurement.result.begun = 3;
  measurement.result.answered = 2;
  measurement.result.errors["MAILBOX_FULL"] = 1;
  measurement.result.unsent = 5;
  measurement.result.elapsed = std::chrono::milliseconds(500);
  measurement.result.latency.Record(std::chrono::milliseconds(1));
  measurement.result.latency.Record(std::chrono::milliseconds(4));
  const auto written = bench::ToJson(measurement);
  EXPECT_EQ(written["rate_per_second"], 100);
  EXPECT_EQ(written["elapsed_seconds"], 0.5);
  EXPECT_EQ(written["answered_per_second"], 4);
  EXPECT_EQ(written["errors"], 1);
  EXPECT_EQ(written["not_begun"], 5);
  EXPECT_EQ(written["latency_seconds"]["max"], 0.004);
  EXPECT_EQ(written["latency_seconds"]["min"], 0.001);
  EXPECT_EQ(written["latency_seconds"]["mean"], 0.0025);
  EXPECT_EQ(written["histogram"][0]["up_to_seconds"], 0.001);
  EXPECT_EQ(written["histogram"][0]["count"], 1);
}

}  // namespace
}  // namespace actord::client
