#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <map>
#include <sstream>
#include <thread>

#include "nlohmann/json.hpp"
#include "tests/client/cli/cli_run.h"
#include "tests/client/fake_daemon.h"

namespace actord::client {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class BulkCommands : public testing::Test {
 protected:
  CliResult Run(std::vector<std::string> arguments, CliInput input = {}) {
    input.variables.emplace("ACTORD_ADDRESS", daemon_.address());
    return RunCli(arguments, input);
  }

  // The lines of a run with -o jsonl, by the number of their item.
  static std::map<int, json> ByLine(const std::string& out) {
    std::map<int, json> items;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
      json item = json::parse(line);
      const int number = item.at("line");
      EXPECT_TRUE(items.emplace(number, std::move(item)).second);
    }
    return items;
  }

  FakeDaemon daemon_;
};

TEST_F(BulkCommands, PriorityOfTheCommandLineIsTheDefaultOfTheItems) {
  Run({"submit", "echo", "7"});
  Run({"submit", "echo", "--priority", "0"});
  Run({"submit", "echo", "--priority", "31", "--from-file", "-"},
      {.stdin_text = "{}\n"});
  EXPECT_FALSE(daemon_.log().submits.at(0).has_priority());
  EXPECT_TRUE(daemon_.log().submits.at(1).has_priority());
  EXPECT_EQ(daemon_.log().submits.at(1).priority(), 0);
  EXPECT_EQ(daemon_.log().submits.at(2).priority(), 31);
}

TEST_F(BulkCommands, SubmitsEachLine) {
  const TemporaryFile file(
      "{\"input\": 1}\n"
      "\n"
      "{\"type\": \"never\", \"request_id\": \"r\"}\n");
  const CliResult result =
      Run({"submit", "echo", "--from-file", file.path(), "-o", "jsonl"});
  EXPECT_EQ(result.status, ExitStatus::kDone);
  const auto items = ByLine(result.out);
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items.at(1)["duplicate"], false);
  EXPECT_THAT(items.at(3)["pid"].get<std::string>(), HasSubstr("p-"));
  EXPECT_THAT(result.err, HasSubstr("actorctl: submitted 2, failed 0 in "));
  EXPECT_EQ(daemon_.log().submits.size(), 2U);
}

TEST_F(BulkCommands, ReportsBadLinesByNumberAndContinues) {
  const TemporaryFile file(
      "{\"input\": 1}\n"
      "not json\n"
      "{\"type\": \"nothing\"}\n"
      "{\"input\": 4}");
  const CliResult result =
      Run({"submit", "echo", "--from-file", file.path(), "-o", "jsonl"});
  EXPECT_EQ(result.status, ExitStatus::kFailed);
  const auto items = ByLine(result.out);
  ASSERT_EQ(items.size(), 4U);
  EXPECT_EQ(items.at(2)["error"]["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(items.at(3)["error"]["code"], "NOT_FOUND");
  EXPECT_EQ(items.at(3)["error"]["reason"], "UNKNOWN_PROCESS_TYPE");
  EXPECT_THAT(items.at(4)["pid"].get<std::string>(), HasSubstr("p-"));
  EXPECT_THAT(result.err, HasSubstr(file.path() + ":2: not valid JSON"));
  EXPECT_THAT(result.err,
              HasSubstr(file.path() + ":3: no plugin has the process type"));
  EXPECT_THAT(result.err, HasSubstr("submitted 2, failed 2 in "));
}

TEST_F(BulkCommands, WaitReportsEachOutcome) {
  const TemporaryFile file(
      "{\"input\": {\"n\": 1}}\n"
      "{\"type\": \"fail\"}\n"
      "{\"input\": \"three\"}\n");
  const CliResult result = Run(
      {"submit", "echo", "--from-file", file.path(), "--wait", "-o", "jsonl"});
  EXPECT_EQ(result.status, ExitStatus::kFailed);
  const auto items = ByLine(result.out);
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items.at(1)["outcome"]["result"]["json"]["n"], 1);
  EXPECT_EQ(items.at(2)["outcome"]["failure"]["message"], "as told");
  EXPECT_EQ(items.at(3)["outcome"]["result"]["json"], "three");
  EXPECT_THAT(result.err, HasSubstr(file.path() + ":2: process p-"));
  EXPECT_THAT(result.err, HasSubstr("succeeded 2, failed 1 in "));
}

TEST_F(BulkCommands, ReadsStandardInput) {
  const CliResult result =
      Run({"submit", "echo", "--from-file", "-"}, {.stdin_text = "{}\nx\n"});
  EXPECT_EQ(result.status, ExitStatus::kFailed);
  EXPECT_EQ(result.out, "");  // people get a summary only
  EXPECT_THAT(result.err, HasSubstr("standard input:2: "));
}

TEST_F(BulkCommands, SubmitsEachOfManyItemsOnce) {
  constexpr int kItems = 5000;
  std::string lines;
  for (int i = 0; i < kItems; ++i) {
    lines += "{\"input\":" + std::to_string(i) + "}\n";
  }
  const CliResult result =
      Run({"submit", "echo", "--from-file", "-", "--wait", "-o", "jsonl"},
          {.stdin_text = lines});
  EXPECT_EQ(result.status, ExitStatus::kDone) << result.err;
  const auto items = ByLine(result.out);
  ASSERT_EQ(items.size(), static_cast<size_t>(kItems));
  for (const auto& [line, item] : items) {
    EXPECT_EQ(item["outcome"]["result"]["json"], line - 1);
  }
}

TEST_F(BulkCommands, WritesNamesAndJson) {
  const CliInput two = {.stdin_text = "{}\n{}\n"};
  const CliResult names =
      Run({"submit", "echo", "--from-file", "-", "-o", "name"}, two);
  EXPECT_EQ(std::count(names.out.begin(), names.out.end(), '\n'), 2);
  const CliResult list =
      Run({"submit", "echo", "--from-file", "-", "-o", "json"}, two);
  EXPECT_EQ(json::parse(list.out).size(), 2U);
}

TEST_F(BulkCommands, StopsWhenTheDaemonIsDraining) {
  std::string lines;
  for (int i = 0; i < 20'000; ++i) lines += "{}\n";
  const CliResult result =
      Run({"submit", "drain", "--from-file", "-"}, {.stdin_text = lines});
  EXPECT_EQ(result.status, ExitStatus::kUnavailable);
  // The error is printed once, not for each item in flight.
  EXPECT_THAT(
      result.err,
      MatchesRegex("actorctl: submitted 0, failed [0-9,]+ in .*\n"
                   "actorctl: stopped at standard input:[0-9]+: draining "
                   ".DRAINING.; try again in 2s\n"));
  EXPECT_LT(daemon_.log().submits.size(), 20'000U);
}

TEST_F(BulkCommands, ShowsTheFirstFailuresOnly) {
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "x\n";
  const CliResult result =
      Run({"submit", "echo", "--from-file", "-"}, {.stdin_text = lines});
  EXPECT_EQ(result.status, ExitStatus::kFailed);
  EXPECT_THAT(result.err, HasSubstr("standard input:20: "));
  EXPECT_THAT(result.err, Not(HasSubstr("standard input:21: ")));
  EXPECT_THAT(result.err, HasSubstr("further failures are not shown"));
  EXPECT_THAT(result.err, HasSubstr("failed 100 in "));
}

TEST_F(BulkCommands, EndsAtTheTimeout) {
  const CliResult result = Run(
      {"submit", "never", "--from-file", "-", "--wait", "--timeout", "200ms"},
      {.stdin_text = "{}\n{}\n"});
  EXPECT_EQ(result.status, ExitStatus::kDeadline);
  EXPECT_THAT(result.err, HasSubstr("succeeded 0, failed 2 in "));
}

TEST_F(BulkCommands, EndsWhenInterrupted) {
  Cancellation cancellation;
  // Standard input stays open, so the command would wait for more lines.
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe(fds.data()), 0);
  ASSERT_EQ(write(fds[1], "{}\n{}\n", 6), 6);
  std::thread interrupter([&] {
    EXPECT_TRUE(daemon_.WaitForOpenAwaits(2));
    cancellation.Cancel();
  });
  const CliResult result =
      Run({"submit", "never", "--from-file", "-", "--wait"},
          {.cancellation = &cancellation, .stdin_fd = fds[0]});
  interrupter.join();
  close(fds[0]);
  close(fds[1]);
  EXPECT_EQ(result.status, ExitStatus::kInterrupted);
  EXPECT_THAT(result.err,
              ContainsRegex("stopped at standard input:[12]: interrupted\n"));
}

TEST_F(BulkCommands, ProgressIsForATerminalOnly) {
  const CliInput quiet = {.stdin_text = "{}\n"};
  EXPECT_THAT(Run({"submit", "echo", "--from-file", "-"}, quiet).err,
              Not(HasSubstr("\r")));
  CliInput terminal = quiet;
  terminal.err_is_terminal = true;
  EXPECT_THAT(Run({"submit", "echo", "--from-file", "-"}, terminal).err,
              HasSubstr("begun"));
  // There is no progress line if the items are written to the same terminal.
  terminal.out_is_terminal = true;
  EXPECT_THAT(
      Run({"submit", "echo", "--from-file", "-", "-o", "name"}, terminal).err,
      Not(HasSubstr("begun")));
}

TEST_F(BulkCommands, SendsInTheOrderOfTheFile) {
  std::string pid = Run({"submit", "never"}).out;
  pid.pop_back();
  std::string lines;
  for (int i = 0; i < 300; ++i) {
    lines += "{\"payload\":" + std::to_string(i) + "}\n";
  }
  const CliResult result =
      Run({"send", pid, "--topic", "add", "--from-file", "-"},
          {.stdin_text = lines});
  EXPECT_EQ(result.status, ExitStatus::kDone) << result.err;
  EXPECT_THAT(result.err, HasSubstr("sent 300, failed 0 in "));
  const FakeDaemon::Log log = daemon_.log();
  ASSERT_EQ(log.sends.size(), 300U);
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(log.sends[i].payload().data(), std::to_string(i));
    EXPECT_EQ(log.sends[i].topic(), "add");
  }
}

TEST_F(BulkCommands, SendReportsFailures) {
  const CliResult result = Run({"send", "--from-file", "-", "-o", "jsonl"},
                               {.stdin_text = "{\"pid\":\"p-9\"}\n{}\n"});
  EXPECT_EQ(result.status, ExitStatus::kFailed);
  const auto items = ByLine(result.out);
  EXPECT_EQ(items.at(1)["pid"], "p-9");
  EXPECT_EQ(items.at(1)["error"]["reason"], "PROCESS_NOT_FOUND");
  EXPECT_THAT(items.at(2)["error"]["message"].get<std::string>(),
              HasSubstr("no \"pid\""));
}

}  // namespace
}  // namespace actord::client
