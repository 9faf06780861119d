// Supervisors with floods of messages, timeouts and small limits.
#include <actord/text.h>

#include "tests/handlers/supervisor/supervisor_fixture.h"

namespace actord::supervisor_test {
namespace {

TEST_F(SupervisorTest, PausesAreLongerThanOtherYieldsMayTake) {
  Harness harness = MakeHarness({.yield_timeout = 1s});
  json tree = TreeOf("one_for_one", {ChildOf("a")});
  tree["backoff"] = {{"initial_ms", 60'000}, {"max_ms", 60'000}, {"jitter", 0}};
  const Pid supervisor = Begin(harness, tree);
  harness.Deliver(PidIn(harness, supervisor, "a"), "fail");
  harness.Advance(59s);
  EXPECT_THAT(TakeTold(), ElementsAre("+a", "-a"));
  harness.Advance(1s);
  EXPECT_THAT(TakeTold(), ElementsAre("+a"));
}

TEST_F(SupervisorTest, ASleepThatFailsIsLookedAtAgain) {
  Harness harness = MakeHarness();
  const Pid supervisor = Begin(harness, TreeOf("one_for_one", {ChildOf("a")}));
  harness.Hold("timer.sleep");
  harness.Deliver(PidIn(harness, supervisor, "a"), "fail");
  harness.Run();
  harness.FailNext("timer.sleep", Code::kUnavailable, "no timers today");
  harness.Run();
  EXPECT_TRUE(harness.IsLive(supervisor));
  harness.Advance(1s);
  harness.CompleteNext("timer.sleep");
  harness.Run();
  EXPECT_THAT(TakeTold(), ElementsAre("+a", "-a", "+a"));
}

// Each step finds another message, and the supervisor still ends.
TEST_F(SupervisorTest, AFloodOfMessagesDoesNotHoldUpTheEnd) {
  Harness harness = MakeHarness();
  const Pid supervisor = Begin(harness, TreeOf("one_for_one", {ChildOf("a")}));
  harness.Cancel(supervisor);
  for (int i = 0; i < 100 && harness.IsLive(supervisor); ++i) {
    harness.Deliver(supervisor, "noise");
    harness.RunOne();
  }
  EXPECT_FALSE(harness.IsLive(supervisor));
}

TEST_F(SupervisorTest, OldestOfTooManyStartWaitersIsRefused) {
  Harness harness = MakeHarness();
  refuses = true;
  json tree = TreeOf("one_for_one", {ChildOf("a")});
  tree["intensity"] = 1000;
  tree["backoff"] = {{"initial_ms", 1000}, {"jitter", 0}};
  const Pid supervisor = Begin(harness, tree);
  harness.Submit("asker", "", Text(supervisor));
  harness.Run();
  EXPECT_EQ(TakeTold(), std::vector<std::string>{
                            "RESOURCE_EXHAUSTED is what the first hears"});
  refuses = false;
  harness.Advance(10s);
  std::vector<std::string> expected(1001, "OK");
  expected.front() = "+a";
  EXPECT_EQ(TakeTold(), expected);
}

// Every answer fits into the payload limit, regardless of its content.
TEST_F(SupervisorTest, AnswersFitIntoSmallPayloads) {
  Harness harness = MakeHarness({.max_payload_bytes = 4096});
  const Pid supervisor = Begin(harness, TreeOf("one_for_one", {}));
  for (int i = 0; i < 60; ++i) {
    const std::string id = std::string(100, 'x') + std::to_string(i);
    Ask(harness, supervisor, "start_child", ChildOf(id));
  }
  size_t count = 0;
  json asked;
  do {
    const json list = Ask(harness, supervisor, "children", asked);
    ASSERT_TRUE(list.is_object()) << list;
    count += list["children"].size();
    asked = list.contains("next") ? json({{"after", list["next"]}}) : json();
  } while (!asked.is_null());
  EXPECT_EQ(count, 60u);
  const std::string huge(4080, 'x');
  EXPECT_THAT(
      Ask(harness, supervisor, "stop_child", {{"id", huge}}).get<std::string>(),
      HasSubstr("NOT_FOUND"));
  EXPECT_TRUE(harness.IsLive(supervisor));
}

// Of two texts that differ by one byte, one has its limit in the middle of a
// character.
TEST_F(SupervisorTest, NeitherAnswerNorEndIsCutWithinACharacter) {
  std::string characters;
  while (characters.size() < 4000) characters += "é";
  for (const char* const before : {"", "x"}) {
    Harness harness = MakeHarness();
    const Pid supervisor = Begin(harness, json::object());
    refuses = true;
    why_refused = before + characters;
    const Result<> answer =
        harness.Call(supervisor, "start_child", ChildOf("a").dump());
    ASSERT_FALSE(answer.ok());
    EXPECT_TRUE(IsUtf8(answer.status().message()));
    EXPECT_GE(answer.status().message().size(), 2047u);
    EXPECT_LE(answer.status().message().size(), 2048u);

    const Pid keeper = Begin(harness, TreeOf("one_for_one", {ChildOf("b")}));
    const std::string end = ChildIn(harness, keeper, "b")["last_end"];
    EXPECT_EQ(end.find("\xef\xbf\xbd"), std::string::npos)
        << "the replacement of half a character";
    EXPECT_GE(end.size(), 199u);
  }
}

// The number 1e9 becomes longer when it is written as JSON again.
TEST_F(SupervisorTest, AChildWhoseStartWouldNotFitIsRefusedWithItsField) {
  Harness harness = MakeHarness({.max_payload_bytes = 4096});
  std::string numbers = "1e9";
  for (int i = 0; i < 500; ++i) numbers += ",1e9";
  const std::string child =
      R"({"id": "a", "type": "child", "input": [)" + numbers + "]}";
  EXPECT_THAT(harness.ExpectRefused(Code::kInvalidArgument, "supervisor", "",
                                    R"({"children": [)" + child + "]}"),
              HasSubstr("field \"children[0].input\" is too long"));
  const Pid supervisor = Begin(harness, TreeOf("one_for_one", {}));
  const Result<> answer = harness.Call(supervisor, "start_child", child);
  ASSERT_FALSE(answer.ok());
  EXPECT_THAT(answer.status().message(),
              HasSubstr("field \"input\" is too long"));
  EXPECT_TRUE(harness.IsLive(supervisor));
}

}  // namespace
}  // namespace actord::supervisor_test
