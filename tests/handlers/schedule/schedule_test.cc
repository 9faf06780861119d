// Schedules in a harness, with real processes and commands and the test's own
// clock.
#include "handlers/schedule/schedule.h"

#include <actord/plugin.h>
#include <actord/testing.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace actord::handlers {
namespace {

using namespace std::chrono_literals;
using actord::testing::EndKind;
using actord::testing::ForEachSeed;
using actord::testing::Harness;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The inputs of the jobs that have begun.
std::vector<std::string> begun;
bool refuses = false;

class Job : public Process {
 public:
  static constexpr const char* kName = "job";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  Status Init(std::string_view /*method*/, const Payload& input) {
    if (refuses) return {Code::kUnavailable, "not today"};
    begun.emplace_back(input.bytes);
    return {};
  }
  void Step(Events /*events*/, StepOutput& out) { out.Done(); }
};

// Holds the name "inbox", and notes the messages with the topic "tick".
class Inbox : public Process {
 public:
  static constexpr const char* kName = "inbox";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  void Init(std::string_view /*method*/, const Payload& /*input*/) {}
  void Step(Events events, StepOutput& out) {
    if (!std::exchange(asked_, true)) {
      out.Yield("name.register", R"({"name": "inbox"})");
    }
    for (const Event event : events) {
      if (event.topic() == "pid") {
        out.Reply(event.call(), out.FormatPid(out.self()));
      }
      if (event.topic() == "tick") begun.emplace_back(event.payload().bytes);
    }
  }

 private:
  bool asked_ = false;
};

class ScheduleTest : public ::testing::Test {
 protected:
  static Harness MakeHarness(uint64_t seed = 1) {
    begun.clear();
    refuses = false;
    static const actord_plugin_info kPlugin =
        MakePlugin<ProcessTypes<Job, Inbox>>("scheduled", "1");
    return Harness(kPlugin, {.seed = seed});
  }
  static json Ask(Harness& harness, const Pid& schedule,
                  const std::string& topic) {
    const Result<> answer = harness.Call(schedule, topic);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return json::parse(answer->bytes);
  }
};

constexpr const char* kJobEachMinute =
    R"({"cron": "* * * * *", "submit": {"type": "job", "input": "a"}})";

TEST_F(ScheduleTest, SubmitsAProcessWhenItIsDue) {
  ForEachSeed(20, [](uint64_t seed) {
    Harness harness = MakeHarness(seed);
    const Pid schedule = harness.Submit("schedule", "", kJobEachMinute);
    harness.Advance(59s);
    EXPECT_TRUE(begun.empty());
    json state = Ask(harness, schedule, "show");
    EXPECT_EQ(state, json({{"when", "* * * * *"},
                           {"what", "submit job"},
                           {"state", "active"},
                           {"catch_up", "skip"},
                           {"next", "2026-01-01T00:01:00Z"},
                           {"runs", 0},
                           {"failures", 0},
                           {"missed", 0},
                           {"under_way", 0}}));
    harness.Advance(1s);
    EXPECT_THAT(begun, ElementsAre("a"));
    harness.Advance(150s);
    EXPECT_THAT(begun, ElementsAre("a", "a", "a"));
    state = Ask(harness, schedule, "show");
    EXPECT_EQ(state["runs"], 3);
    EXPECT_EQ(state["last_due"], "2026-01-01T00:03:00Z");
    EXPECT_EQ(state["last_run"], "2026-01-01T00:03:00Z");
    EXPECT_EQ(state["next"], "2026-01-01T00:04:00Z");
    EXPECT_FALSE(state["last_pid"].get<std::string>().empty());
    EXPECT_EQ(state.count("last_error"), 0u);
  });
}

TEST_F(ScheduleTest, SendsToANameAtAnInterval) {
  Harness harness = MakeHarness();
  const Pid inbox = harness.Submit("inbox");
  harness.Run();
  harness.Submit("schedule", "",
                 R"({"every_ms": 90000, "send": {"to": "@inbox",
                     "topic": "tick", "payload": {"n": 1}}})");
  harness.Advance(5min);
  EXPECT_THAT(begun, ElementsAre(R"({"n":1})", R"({"n":1})", R"({"n":1})"));
  EXPECT_TRUE(harness.IsLive(inbox));
}

TEST_F(ScheduleTest, SendsToAPid) {
  Harness harness = MakeHarness();
  harness.Submit("inbox");
  harness.Run();
  const std::string pid = harness.Call(harness.HolderOf("inbox"), "pid")->bytes;
  harness.Submit(
      "schedule", "",
      json({{"every_ms", 1000},
            {"send", {{"to", pid}, {"topic", "tick"}, {"payload", "x"}}}})
          .dump());
  harness.Advance(2s);
  EXPECT_THAT(begun, ElementsAre("x", "x"));
  EXPECT_THAT(
      harness.ExpectRefused(Code::kInvalidArgument, "schedule", "",
                            R"({"every_ms": 1000, "send": {"to": "nobody"}})"),
      HasSubstr("\"send.to\" is \"nobody\""));
}

TEST_F(ScheduleTest, FailedRunsAreCountedAndLoggedOnce) {
  Harness harness = MakeHarness();
  const Pid schedule = harness.Submit("schedule", "", kJobEachMinute);
  refuses = true;
  harness.Advance(3min);
  json state = Ask(harness, schedule, "show");
  EXPECT_EQ(state["runs"], 3);
  EXPECT_EQ(state["failures"], 3);
  EXPECT_THAT(state["last_error"], HasSubstr("UNAVAILABLE: "));
  EXPECT_THAT(state["last_error"], HasSubstr("not today"));
  EXPECT_EQ(state["last_error_time"], "2026-01-01T00:03:00Z");
  ASSERT_EQ(harness.log().size(), 1u);
  EXPECT_THAT(harness.log()[0].text, HasSubstr("not today"));
  refuses = false;
  harness.Advance(1min);
  refuses = true;
  harness.Advance(1min);
  EXPECT_EQ(harness.log().size(), 2u) << "it had been well in between";
  EXPECT_EQ(Ask(harness, schedule, "show")["failures"], 4);
}

TEST_F(ScheduleTest, NameWithoutAHolderIsAFailedRun) {
  Harness harness = MakeHarness();
  const Pid schedule = harness.Submit(
      "schedule", "",
      R"({"every_ms": 1000, "send": {"to": "@nobody", "topic": "t"}})");
  harness.Advance(1s);
  EXPECT_EQ(Ask(harness, schedule, "show")["last_error"],
            "NOT_FOUND: no process holds the name nobody");
}

TEST_F(ScheduleTest, PausesResumesAndEnds) {
  Harness harness = MakeHarness();
  const Pid schedule = harness.Submit("schedule", "", kJobEachMinute);
  json state = Ask(harness, schedule, "pause");
  EXPECT_EQ(state["state"], "paused");
  EXPECT_EQ(state.count("next"), 0u);
  harness.Advance(1h);
  EXPECT_TRUE(begun.empty());
  EXPECT_TRUE(harness.Held().empty());
  state = Ask(harness, schedule, "resume");
  EXPECT_EQ(state["state"], "active");
  EXPECT_EQ(state["missed"], 0);
  harness.Advance(1min);
  EXPECT_EQ(begun.size(), 1u);
  const json removed = Ask(harness, schedule, "remove");
  EXPECT_EQ(removed["runs"], 1);
  EXPECT_EQ(removed["state"], "removed");
  EXPECT_EQ(removed.count("next"), 0u);
  EXPECT_EQ(json::parse(harness.ExpectResult(schedule).bytes)["runs"], 1);
  harness.Advance(1h);
  EXPECT_EQ(begun.size(), 1u);
}

TEST_F(ScheduleTest, OtherTopicsAreRefused) {
  Harness harness = MakeHarness();
  const Pid schedule = harness.Submit("schedule", "", kJobEachMinute);
  const Result<> answer = harness.Call(schedule, "stop");
  EXPECT_EQ(answer.status().code(), Code::kUnimplemented);
  EXPECT_THAT(answer.status().message(), HasSubstr("show, pause, resume"));
  harness.Deliver(schedule, "whatever");
  harness.Deliver(schedule, "pause");
  EXPECT_EQ(Ask(harness, schedule, "show")["state"], "paused");
}

// Runs that do not get on do not pile up.
TEST_F(ScheduleTest, WaitsWhileTooManyRunsAreUnderWay) {
  Harness harness = MakeHarness();
  harness.Hold("process.spawn");
  const Pid schedule = harness.Submit(
      "schedule", "",
      R"({"every_ms": 1000, "catch_up": "all", "submit": {"type": "job"}})");
  harness.Advance(200s);
  EXPECT_EQ(harness.Held("process.spawn").size(), Schedule::kMaxUnderWay);
  EXPECT_EQ(Ask(harness, schedule, "show")["under_way"], 64);
  for (int i = 0; i < 136; ++i) harness.CompleteNext("process.spawn", "pid");
  harness.Run();
  const json state = Ask(harness, schedule, "show");
  EXPECT_EQ(state["runs"], 200) << "each was caught up with";
  EXPECT_EQ(state["missed"], 0);
}

// A crash after each step changes nothing.
TEST_F(ScheduleTest, GoesOnFromItsImage) {
  ForEachSeed(20, [](uint64_t seed) {
    Harness harness = MakeHarness(seed);
    harness.CrashEverywhere();
    const Pid schedule = harness.Submit("schedule", "", kJobEachMinute);
    harness.Advance(10min);
    EXPECT_EQ(begun.size(), 10u);
    Ask(harness, schedule, "pause");
    harness.Advance(10min);
    Ask(harness, schedule, "resume");
    refuses = true;
    harness.Advance(1min);
    refuses = false;
    harness.Advance(1min);
    const json state = Ask(harness, schedule, "show");
    EXPECT_EQ(state["runs"], 12);
    EXPECT_EQ(state["failures"], 1);
    EXPECT_THAT(state["last_error"], HasSubstr("not today"));
    EXPECT_EQ(begun.size(), 11u);
  });
}

TEST_F(ScheduleTest, AnUpgradeKeepsTimersAndRuns) {
  Harness harness = MakeHarness();
  const Pid schedule = harness.Submit("schedule", "", kJobEachMinute);
  harness.Advance(30s);
  ASSERT_TRUE(harness.Upgrade<Schedule>(schedule).ok());
  harness.Advance(30s);
  EXPECT_EQ(begun.size(), 1u);
  harness.Hold("process.spawn");
  harness.Advance(1min);
  ASSERT_TRUE(harness.Upgrade<Schedule>(schedule).ok());
  EXPECT_EQ(Ask(harness, schedule, "show")["under_way"], 1);
  harness.CompleteNext("process.spawn", "pid");
  harness.Run();
  EXPECT_EQ(Ask(harness, schedule, "show")["under_way"], 0);
}

}  // namespace
}  // namespace actord::handlers
