// Supervisors under floods, timeouts and small limits.
#include "tests/handlers/supervisor_fixture.h"

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

// Each step finds another message, and it ends all the same.
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

TEST_F(SupervisorTest, OfTooManyThatWaitForTheStartTheOldestIsRefused) {
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

}  // namespace
}  // namespace actord::supervisor_test
