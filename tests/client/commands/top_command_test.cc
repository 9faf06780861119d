// Tests the command "actorctl top": its usage errors, and the output of --once.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/client/commands/commands_fixture.h"
#include "tests/client/top/top_fixture.h"

namespace actord::client {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

class TopCommand : public Commands {
 protected:
  TopCommand() {
    daemon_.status = top::MakeSample(absl::Seconds(90)).status;
    daemon_.status.mutable_counters()->set_processes_live(2500);
    for (uint64_t i = 0; i < 2500; ++i) {
      daemon_.processes.push_back(top::MakeProcess(
          "p-" + std::to_string(i), i % 5 == 0 ? "order" : "counter", i));
    }
  }
  CliResult Once(std::vector<std::string> more) {
    more.insert(more.begin(), {"top", "--once", "--interval", "100ms"});
    return Run(more);
  }
};

TEST_F(TopCommand, RequiresATerminal) {
  for (const bool out_is_terminal : {false, true}) {
    const CliResult result =
        Run({"top"}, {.variables = {{"TERM", "xterm"}},
                      .out_is_terminal = out_is_terminal});  // stdin is a file
    EXPECT_EQ(result.status, ExitStatus::kUsage);
    EXPECT_THAT(result.err, HasSubstr("top needs a terminal"));
    EXPECT_THAT(result.err, HasSubstr("--once"));
    EXPECT_EQ(result.out, "");
  }
  EXPECT_THAT(daemon_.log().process_lists, SizeIs(0));
}

TEST_F(TopCommand, RefusesInvalidOptions) {
  const struct {
    std::vector<std::string> arguments;
    const char* complaint;
  } cases[] = {
      {{"top", "--interval", "99ms"}, "--interval must be from 100ms to 1h"},
      {{"top", "--interval", "61m"}, "--interval must be from 100ms to 1h"},
      {{"top", "--interval", "soon"}, "\"soon\" is not a duration"},
      {{"top", "--max", "0"}, "--max"},
      {{"top", "--max", "1000001"}, "--max"},
      {{"top", "--sort", "colour"},
       "there is no column \"colour\"; there are pid"},
      {{"top", "--sort", "idle"}, "there is no column \"idle\""},
      {{"top", "--types", "--sort", "pid"}, "there is no column \"pid\""},
      {{"top", "-o", "json"}, "-o needs --once"},
      {{"top", "--limit", "3"}, "--limit needs --once"},
  };
  for (const auto& one : cases) {
    const CliResult result = Run(one.arguments);
    EXPECT_EQ(result.status, ExitStatus::kUsage) << one.complaint;
    EXPECT_THAT(result.err, HasSubstr(one.complaint));
  }
}

TEST_F(TopCommand, OnceWritesOneFrame) {
  const CliResult result = Once({"--sort", "steps", "--limit", "2"});
  EXPECT_EQ(result.status, ExitStatus::kDone) << result.err;
  EXPECT_THAT(result.out, StartsWith("actord 0.1.0 at " + daemon_.address() +
                                     "   SERVING   up 1m30s   4 workers"));
  EXPECT_THAT(result.out, HasSubstr("\nLooked at all 2,500 processes\n\nPID "));
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("\np-2499  counter"),
                    HasSubstr("\np-2498  counter"), Not(HasSubstr("p-2497"))));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  EXPECT_EQ(result.err, "");
}

TEST_F(TopCommand, ReadsAtMostMaxProcesses) {
  const CliResult result = Once({"--max", "1200", "--limit", "1"});
  EXPECT_THAT(result.out,
              HasSubstr("Looked at the first 1,200 of 2,500 processes\n"));
  const FakeDaemon::Log log = daemon_.log();
  ASSERT_THAT(log.process_lists, SizeIs(4));  // two pages, twice
  EXPECT_EQ(log.process_lists[0].page_size(), 1000);
  EXPECT_EQ(log.process_lists[1].page_size(), 200);
}

TEST_F(TopCommand, RequestsASingleTypeOnly) {
  Once({"--type", "order"});
  EXPECT_EQ(daemon_.log().process_lists.back().process_type(), "order");
  const CliResult result = Once({"--type", "rde", "-o", "name"});
  EXPECT_EQ(daemon_.log().process_lists.back().process_type(), "");
  EXPECT_THAT(result.out, AllOf(HasSubstr("p-5\n"), Not(HasSubstr("p-6\n"))));
}

TEST_F(TopCommand, WritesTheSameValuesAsData) {
  const CliResult result =
      Once({"--sort", "steps", "--limit", "1", "-o", "json", "--max", "2000"});
  ASSERT_EQ(result.status, ExitStatus::kDone) << result.err;
  const json data = json::parse(result.out);
  EXPECT_EQ(data["version"], "0.1.0");
  EXPECT_EQ(data["state"], "SERVING");
  EXPECT_EQ(data["workers"], 4);
  EXPECT_EQ(data["counters"]["processes_live"], 2500);
  // The clock of the fake daemon stands still.
  EXPECT_EQ(data["per_second"]["steps"], nullptr);
  EXPECT_EQ(
      data["looked_at"],
      json({{"processes", 2000}, {"process_type", ""}, {"complete", false}}));
  ASSERT_THAT(data["processes"], SizeIs(1));
  EXPECT_EQ(data["processes"][0]["pid"], "p-1999");
  EXPECT_EQ(data["processes"][0]["steps"], 1999);
  EXPECT_EQ(data["processes"][0]["steps_per_second"], nullptr);
  EXPECT_EQ(data["processes"][0]["age_seconds"], 90);
  const json types =
      json::parse(Once({"--types", "-o", "jsonl"}).out)["process_types"];
  ASSERT_THAT(types, SizeIs(2));
  EXPECT_EQ(types[0]["process_type"], "counter");
  EXPECT_EQ(types[0]["processes"], 2000);
  EXPECT_EQ(types[1]["processes"], 500);
  EXPECT_EQ(Once({"--types", "-o", "name"}).out, "counter\norder\n");
  EXPECT_THAT(Once({"--types", "-o", "yaml"}).out, StartsWith("version: "));
}

TEST_F(TopCommand, OnceFailsLikeOtherCommands) {
  EXPECT_EQ(Run({"top", "--once", "--address", "127.0.0.1:1"}).status,
            ExitStatus::kUnavailable);
  EXPECT_EQ(
      Run({"top", "--once", "--interval", "1h", "--timeout", "300ms"}).status,
      ExitStatus::kDeadline);
  Cancellation cancellation;
  cancellation.Cancel();
  EXPECT_EQ(Run({"top", "--once"}, {.cancellation = &cancellation}).status,
            ExitStatus::kInterrupted);
}

TEST_F(TopCommand, IsInShellCompletion) {
  EXPECT_THAT(Run({"__complete", "to"}).out, HasSubstr("top"));
  EXPECT_THAT(Run({"__complete", "top", "--so"}).out, HasSubstr("--sort"));
  EXPECT_THAT(Run({"__complete", "top", "--sort", ""}).out,
              HasSubstr("pid\t\ntype\t\n"));
}

}  // namespace
}  // namespace actord::client
