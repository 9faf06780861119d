#include <actord/coroutine.h>

#include <string>

#include "tests/handlers/sdk/coroutine_fixture.h"

namespace actord {
namespace {

class SleepTest : public CoroutineTest {
 protected:
  // Sleeps for `duration`, in parallel with others, and records its name when
  // it wakes.
  Task<> SleepAndTell(Context& ctx, Duration duration, std::string name) {
    co_await ctx.Sleep(duration);
    trace_.push_back(name);
  }
};

TEST_F(SleepTest, WakesWhenItsTimerCompletes) {
  EXPECT_EQ(Start([](Context& ctx) -> Task<Result<>> {
              co_await ctx.Sleep(5s);
              co_return "up";
            }),
            ACTORD_STEP_BLOCK);
  EXPECT_EQ(TheCommand(), "timer.sleep");
  EXPECT_EQ(process().yields[0].payload.bytes, R"({"duration_ms":5000})");
  Pass(5s);
  EXPECT_EQ(Complete(TheTag()), ACTORD_STEP_DONE);
}

TEST_F(SleepTest, DefaultTimeoutOfYieldsDoesNotShortenASleep) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_await ctx.Sleep(24h * 365);
    co_return "";
  });
  EXPECT_GT(process().yields.at(0).timeout_ns, 365ull * 24 * 3600 * 1000000000);
}

TEST_F(SleepTest, SleepWithoutADurationDoesNotWait) {
  EXPECT_EQ(Start([](Context& ctx) -> Task<Result<>> {
              co_await ctx.Sleep(0s);
              co_await ctx.Sleep(-5s);
              co_return "";
            }),
            ACTORD_STEP_DONE);
  EXPECT_TRUE(process().yields.empty());
}

TEST_F(SleepTest, ThrowsWhenNoTimerIsGranted) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_await ctx.Sleep(5s);
    co_return "";
  });
  EXPECT_EQ(Complete(TheTag(), "too many", Code::kResourceExhausted),
            ACTORD_STEP_FAIL);
  EXPECT_EQ(process().failure, Code::kResourceExhausted);
  EXPECT_EQ(process().failure_text, "too many");
}

TEST_F(SleepTest, SeveralShareTheTimerOfTheEarliest) {
  Start([this](Context& ctx) -> Task<Result<>> {
    co_await WhenAll(
        SleepAndTell(ctx, 2s, "two"), SleepAndTell(ctx, 5s, "five"),
        SleepAndTell(ctx, 2s, "two again"), SleepAndTell(ctx, 1s, "one"));
    co_return "";
  });
  // One timer for 2 s, and one for the earlier deadlines.
  ASSERT_EQ(process().yields.size(), 2u);
  const Tag two = process().yields[0].tag;
  const Tag one = process().yields[1].tag;
  EXPECT_EQ(process().yields[1].payload.bytes, R"({"duration_ms":1000})");
  Pass(1s);
  EXPECT_EQ(Complete(one), ACTORD_STEP_BLOCK);
  EXPECT_THAT(trace_, ElementsAre("one"));
  EXPECT_TRUE(process().yields.empty());
  Pass(1s);
  EXPECT_EQ(Complete(two), ACTORD_STEP_BLOCK);
  EXPECT_THAT(trace_, ElementsAre("one", "two", "two again"));
  EXPECT_EQ(process().yields.at(0).payload.bytes, R"({"duration_ms":3000})");
  Pass(3s);
  EXPECT_EQ(Complete(TheTag()), ACTORD_STEP_DONE);
  EXPECT_EQ(trace_.back(), "five");
}

// Waiting with a timeout for each message must not leave a timer for each
// message, because the daemon limits timers.
TEST_F(SleepTest, ManyTimeoutsThatDoNotHappenShareATimer) {
  Start([](Context& ctx) -> Task<Result<>> {
    while (co_await ctx.WithTimeout(ctx.Receive(), 60s)) {
    }
    co_return "idle";
  });
  Tag timer = TheTag();
  for (int i = 0; i < 1000; ++i) {
    Pass(10ms);
    EXPECT_EQ(Message("tick"), ACTORD_STEP_IDLE);
    EXPECT_TRUE(process().yields.empty());
  }
  // The last message arrived after 10 s.
  Pass(50s);
  EXPECT_EQ(Complete(timer), ACTORD_STEP_IDLE);
  EXPECT_EQ(process().yields.at(0).payload.bytes, R"({"duration_ms":10000})");
  timer = TheTag();
  Pass(10s);
  EXPECT_EQ(Complete(timer), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "idle");
}

TEST_F(SleepTest, ClockThatIsSetBackDelaysByTheDurationAtMost) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_await ctx.WithTimeout(ctx.Receive(), 60s);
    co_await ctx.WithTimeout(ctx.Receive("never"), 60s);
    co_return "";
  });
  const Tag timer = TheTag();
  Pass(1s);
  EXPECT_EQ(Message("any"), ACTORD_STEP_IDLE);
  Pass(-1h);
  EXPECT_EQ(Complete(timer), ACTORD_STEP_IDLE);
  EXPECT_EQ(process().yields.at(0).payload.bytes, R"({"duration_ms":60000})");
  EXPECT_EQ(Complete(TheTag()), ACTORD_STEP_DONE);
}

TEST_F(SleepTest, TimerThatIsDueWakesThoughTheClockWasSetBack) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_await ctx.Sleep(60s);
    co_return "";
  });
  Pass(-1h);
  EXPECT_EQ(Complete(TheTag()), ACTORD_STEP_DONE);
}

}  // namespace
}  // namespace actord
