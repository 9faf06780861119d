// Recipes about work that others do: fan_out, handler, pool, rate_limit,
// supervise.
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

TEST(Cookbook, PoolWorksOnFourAtATime) {
  ForEachSeed(50, [](uint64_t seed) {
    Kitchen harness("pool", seed);
    const Pid resizer = harness.Submit("resizer");
    harness.Hold("picture.resize");
    const Pid probe = harness.Probe();
    for (int i = 0; i < 10; ++i) {
      harness.Deliver(resizer, "resize", OwnedPayload::Text(std::to_string(i)));
    }
    for (int left = 10; left > 0; --left) {
      harness.Run();
      const auto held = harness.Held("picture.resize");
      ASSERT_EQ(held.size(), std::min<size_t>(4, static_cast<size_t>(left)));
      // The newest ends first.
      harness.Complete(held.back());
    }
    harness.Run();
    EXPECT_TRUE(harness.IsLive(resizer));
    EXPECT_EQ(harness.MessagesAt(probe), 0u);
  });
}

TEST(Cookbook, PoolGoesOnAfterAFailure) {
  Kitchen harness("pool");
  const Pid resizer = harness.Submit("resizer");
  harness.Stub("picture.resize",
               [](const testing::HeldYield& yield) -> Result<> {
                 if (yield.payload.bytes != "bad")
                   return OwnedPayload::Text("small");
                 return Status(Code::kInvalidArgument, "no picture");
               });
  EXPECT_EQ(
      harness.Call(resizer, "resize", OwnedPayload::Text("bad")).error().code,
      Code::kInvalidArgument);
  ASSERT_EQ(harness.log().size(), 1u);
  EXPECT_EQ(harness.log()[0].text, "no picture");
  EXPECT_EQ(harness.log()[0].from, resizer);
  EXPECT_EQ(
      harness.Call(resizer, "resize", OwnedPayload::Text("good")).value().bytes,
      "small");
}

TEST(Cookbook, PoolEndsItsTasksWhenItIsCancelled) {
  Kitchen harness("pool");
  const Pid resizer = harness.Submit("resizer");
  harness.Hold("picture.resize");
  for (int i = 0; i < 6; ++i) harness.Deliver(resizer, "resize");
  harness.Run();
  harness.Cancel(resizer);
  harness.ExpectFailed(resizer, Code::kCancelled);
  EXPECT_TRUE(harness.Held("picture.resize").empty());
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

TEST(Cookbook, RateLimitAnswersAsOftenAsItSays) {
  Kitchen harness("rate_limit");
  const Pid limiter = harness.Submit("limiter", "run", "3");
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(harness.Call(limiter, "may I").ok()) << i;
    harness.Advance(334ms);
  }
  EXPECT_TRUE(harness.Call(limiter, "may I").ok());
  EXPECT_THROW((void)harness.Call(limiter, "may I"), testing::ExpectationFailed)
      << "it is not due yet";
}

TEST(Cookbook, RateLimitSavesUpTenMilliseconds) {
  Kitchen harness("rate_limit");
  const Pid limiter = harness.Submit("limiter", "run", "2000");
  harness.Advance(1s);
  for (int i = 0; i < 21; ++i) {
    EXPECT_TRUE(harness.Call(limiter, "may I").ok()) << i;
  }
  EXPECT_THROW((void)harness.Call(limiter, "may I"),
               testing::ExpectationFailed);
}

TEST(Cookbook, RateLimitRefusesWhatIsNoRate) {
  Kitchen harness("rate_limit");
  for (const char* input : {"", "0", "-1", "100001", "3 a second", "0.5"}) {
    EXPECT_THAT(
        harness.ExpectRefused(Code::kInvalidArgument, "limiter", "run", input),
        HasSubstr("a number from 1 to 100000"))
        << input;
  }
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
