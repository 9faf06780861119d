#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/client/commands/commands_fixture.h"
#include "tests/client/streams/watch_fixture.h"

namespace actord::client {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class WatchCommand : public Commands {
 protected:
  std::vector<json> Lines(const std::string& text) {
    std::vector<json> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      lines.push_back(json::parse(line));
    }
    return lines;
  }
};

TEST_F(WatchCommand, PrintsALineForEachEvent) {
  daemon_.watches = {{Page("1", true, true, {"p-1"}),
                      Happened("2", {"+p-2", "-p-1"}),
                      Happened("3", {"!p-2"})}};
  const CliResult table = Run({"watch", "--count", "3"});
  EXPECT_EQ(table.status, ExitStatus::kDone) << table.err;
  for (const char* text :
       {"EVENT +TIME +PID +TYPE +HOW +STEPS\n",
        "LIVE +[0-9TZ:-]+ +p-1 +order +"
        "IDLE +0\n",
        "STARTED +[0-9TZ:-]+ +p-2 +order *\n",
        "ENDED +[0-9TZ:-]+ +p-1 +order +DONE +5\n",
        "ENDED +[0-9TZ:-]+ +p-2 +order +FAILED: card refused +5\n"}) {
    EXPECT_THAT(table.out, testing::ContainsRegex(text));
  }
  EXPECT_EQ(table.err, "actorctl: to go on here: --resume 3\n");
  EXPECT_EQ(Run({"watch", "--count", "3", "-o", "name"}).out,
            "p-1\np-2\np-1\np-2\n");
  EXPECT_THAT(Run({"watch", "--count", "3", "-o", "wide"}).out,
              HasSubstr("PRIORITY"));
}

TEST_F(WatchCommand, JsonHasEventsPidsAndFailures) {
  daemon_.watches = {{Page("1", true, true, {"p-1"}), Missed("2", 12'345),
                      Page("3", true, true, {"p-1"}),
                      Happened("4", {"+p-2", "!p-1"})}};
  const CliResult done = Run({"watch", "--count", "2", "-o", "jsonl"});
  EXPECT_EQ(done.status, ExitStatus::kDone) << done.err;
  std::vector<std::string> events;
  const std::vector<json> lines = Lines(done.out);
  for (const json& line : lines) events.push_back(line["event"]);
  EXPECT_THAT(events, ElementsAre("SNAPSHOT", "LIVE", "SNAPSHOT_END", "MISSED",
                                  "SNAPSHOT", "LIVE", "SNAPSHOT_END", "STARTED",
                                  "ENDED"));
  EXPECT_EQ(lines[1]["pid"], "p-1");
  EXPECT_EQ(lines[1]["state"], "IDLE");
  EXPECT_EQ(lines[3]["count"], 12'345);
  EXPECT_EQ(lines[7]["pid"], "p-2");
  EXPECT_EQ(lines[7]["method"], "open");
  EXPECT_EQ(lines[8]["failure"]["reason"], "FAILED");
  EXPECT_EQ(lines[8]["failure"]["message"], "card refused");
  EXPECT_THAT(done.err, HasSubstr("actorctl: 12,345 events were missed; what "
                                  "lives now follows\n"));
}

TEST_F(WatchCommand, ReportsMissedEventsAndReconnects) {
  daemon_.watches = {{TokenOnly("1")}, {Missed("2", 0), Happened("3", {"+a"})}};
  const CliResult done = Run({"watch", "--no-snapshot", "--count", "1"});
  EXPECT_EQ(done.status, ExitStatus::kDone);
  EXPECT_THAT(done.err,
              MatchesRegex("actorctl: the daemon at [^\n]* is not available: "
                           "draining; trying again in 100ms\n"
                           "actorctl: connected again\n"
                           "actorctl: an unknown number of events were missed\n"
                           "actorctl: to go on here: --resume 3\n"));
}

TEST_F(WatchCommand, SendsItsOptions) {
  daemon_.watches = {{Happened("1", {"+a"})}};
  Run({"watch", "--type", "order", "--parent", "p-7", "--resume", "token",
       "--no-snapshot", "--count", "1"});
  const v1::WatchProcessesRequest request = daemon_.log().watches.at(0);
  EXPECT_EQ(request.process_type(), "order");
  EXPECT_EQ(request.parent_pid(), "p-7");
  EXPECT_EQ(request.resume_token(), "token");
  EXPECT_TRUE(request.skip_snapshot());
}

TEST_F(WatchCommand, EndsAfterTheTimeOfFor) {
  daemon_.watches = {{Page("1", true, true, {"p-1"})}};
  // The time is long enough for the snapshot.
  const CliResult enough = Run({"watch", "--for", "2s"});
  EXPECT_EQ(enough.status, ExitStatus::kDone);
  EXPECT_THAT(enough.out, HasSubstr("p-1"));
  const CliResult late = Run({"watch", "--timeout", "50ms"});
  EXPECT_EQ(late.status, ExitStatus::kDeadline);
  const CliResult wrong = Run({"watch", "--for", "soon"});
  EXPECT_EQ(wrong.status, ExitStatus::kUsage);
  EXPECT_THAT(wrong.err, HasSubstr("--for: "));
}

TEST_F(WatchCommand, FailsIfTheDaemonWasNotReachedInTheTimeOfFor) {
  // "Connection refused" at once.
  const CliResult result =
      Run({"watch", "--address", "127.0.0.1:1", "--for", "300ms"});
  EXPECT_EQ(result.status, ExitStatus::kUnavailable);
  EXPECT_THAT(result.err,
              HasSubstr("actorctl: cannot reach the daemon at 127.0.0.1:1: "));
}

TEST_F(WatchCommand, EndsWhenInterrupted) {
  daemon_.watches = {{Page("1", true, true, {"p-1"})}};
  Cancellation cancellation;
  cancellation.Cancel();
  CliInput input;
  input.cancellation = &cancellation;
  const CliResult result = Run({"watch", "-o", "json"}, input);
  EXPECT_EQ(result.status, ExitStatus::kInterrupted);
  EXPECT_EQ(result.out, "[]\n");
}

TEST_F(WatchCommand, RefusesAnInvalidToken) {
  const CliResult result = Run({"watch", "--resume", "x"});
  EXPECT_EQ(result.status, ExitStatus::kFailed);
  EXPECT_THAT(result.err, HasSubstr("INVALID_RESUME_TOKEN"));
  EXPECT_THAT(result.err, Not(HasSubstr("to go on")));
}

}  // namespace
}  // namespace actord::client
