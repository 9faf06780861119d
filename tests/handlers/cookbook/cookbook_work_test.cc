// Recipes about work that others do: fan_out, handler, supervise.
#include <algorithm>
#include <cstddef>
#include <string>

#include "tests/handlers/cookbook/cookbook_fixture.h"

namespace actord::cookbook_test {
namespace {

using ::testing::HasSubstr;

TEST(Cookbook, FanOutGathersFourAtATime) {
  ForEachSeed(50, [](uint64_t seed) {
    Kitchen harness("fan_out", seed);
    const Pid survey = harness.Submit(
        "survey", "run", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight");
    size_t most = 0;
    while (harness.RunOne()) {
      most = std::max(most, harness.Live("measure").size());
    }
    EXPECT_EQ(most, 4u);
    EXPECT_EQ(harness.ExpectResult(survey).bytes, "32");
  });
}

TEST(Cookbook, FanOutOfNothingIsNothing) {
  Kitchen harness("fan_out");
  EXPECT_EQ(harness.ExpectResult(harness.Submit("survey")).bytes, "0");
}

TEST(Cookbook, FanOutFailsWithoutRoom) {
  Harness harness(FileOf("fan_out").c_str(), {.max_processes = 3});
  const Pid survey = harness.Submit("survey", "run", "one\ntwo\nthree");
  harness.ExpectFailed(survey, Code::kResourceExhausted);
}

TEST(Cookbook, FanOutFailsWithItsPart) {
  ForEachSeed(50, [](uint64_t seed) {
    Kitchen harness("fan_out", seed);
    const Pid survey = harness.Submit("survey", "run", "one\n\nthree");
    EXPECT_THAT(harness.ExpectFailed(survey, Code::kInvalidArgument),
                HasSubstr("an empty line"));
  });
}

TEST(Cookbook, HandlerAnswersWithTheFreeBytes) {
  Kitchen harness("handler");
  const Pid root = harness.Submit("disk_check", "run", "/");
  const OwnedPayload free = harness.ExpectResult(root);
  EXPECT_GT(std::stoull(free.bytes), 0u);
  EXPECT_EQ(free.content_type, "text/plain");
  const Pid nowhere = harness.Submit("disk_check", "run", "/no/such/path");
  EXPECT_THAT(harness.ExpectFailed(nowhere, Code::kNotFound),
              HasSubstr("/no/such/path: "));
}

TEST(Cookbook, HandlerThatIsTooSlowIsGivenUp) {
  Kitchen harness("handler");
  harness.Hold("disk.free");
  const Pid check = harness.Submit("disk_check", "run", "/");
  harness.Advance(10s);
  harness.ExpectFailed(check, Code::kDeadlineExceeded);
}

TEST(Cookbook, SuperviseRestartsAChild) {
  ForEachSeed(50, [](uint64_t seed) {
    Kitchen harness("supervise", seed);
    const Pid printery = harness.Submit("printery");
    harness.Run();
    const Pid left = harness.HolderOf("press/left");
    const Pid right = harness.HolderOf("press/right");
    ASSERT_FALSE(left.empty());
    harness.Deliver(left, "jam");
    harness.ExpectFailed(left, Code::kInternal);
    harness.Advance(1s);
    EXPECT_FALSE(harness.HolderOf("press/left").empty());
    EXPECT_NE(harness.HolderOf("press/left"), left);
    EXPECT_EQ(harness.HolderOf("press/right"), right);
    EXPECT_TRUE(harness.IsLive(printery));
  });
}

TEST(Cookbook, SuperviseGivesUpAfterTooManyRestarts) {
  Kitchen harness("supervise");
  const Pid printery = harness.Submit("printery");
  for (int i = 0; i < 4; ++i) {
    harness.Advance(2s);
    harness.Deliver(harness.HolderOf("press/left"), "jam");
  }
  EXPECT_THAT(harness.ExpectFailed(printery, Code::kAborted),
              HasSubstr("left"));
  EXPECT_TRUE(harness.Live().empty());
}

TEST(Cookbook, SuperviseStopsItsChildren) {
  Kitchen harness("supervise");
  const Pid printery = harness.Submit("printery");
  harness.Run();
  harness.Deliver(printery, "close");
  harness.ExpectResult(printery);
  EXPECT_TRUE(harness.Live().empty());
}

}  // namespace
}  // namespace actord::cookbook_test
