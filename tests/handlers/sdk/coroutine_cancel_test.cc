#include <actord/coroutine.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/handlers/sdk/coroutine_fixture.h"

namespace actord {
namespace {

class CoroutineCancelTest : public CoroutineTest {
 protected:
  // Starts a process that waits as `wait` says, cleans up with a command when
  // it is cancelled, and ends with the reason.
  int32_t StartCleaningUp(std::function<Task<>(Context& ctx)> wait) {
    wait_ = std::move(wait);
    return Start([this](Context& ctx) -> Task<Result<>> {
      const Destroyed destroyed(trace_, "local");
      std::string reason;
      try {
        co_await wait_(ctx);
        trace_.emplace_back("went on");
      } catch (const Cancelled& cancelled) {
        reason = cancelled.what();
      }
      EXPECT_TRUE(ctx.cancelled());
      EXPECT_EQ(ctx.cancel_reason(), reason);
      trace_.push_back("clean up");
      (co_await ctx.Run("clean.up")).value();
      co_await ctx.Sleep(1s);
      co_await ctx.Receive();
      co_return reason;
    });
  }

  // Precondition: the process was cancelled and has yielded its first clean-up
  // command.
  void ExpectCleanUpAndEnd() {
    ASSERT_EQ(process().yields.size(), 1u);
    EXPECT_EQ(process().yields[0].command, "clean.up");
    EXPECT_THAT(trace_, ElementsAre("clean up"));
    EXPECT_EQ(Complete(TheTag()), ACTORD_STEP_BLOCK) << "sleeps";
    process().Complete(process().yields.back().tag);
    Pass(1s);
    EXPECT_EQ(Step(), ACTORD_STEP_IDLE) << "receives";
    EXPECT_EQ(Message("any"), ACTORD_STEP_DONE);
    EXPECT_EQ(process().result.bytes, "enough");
    EXPECT_THAT(trace_, ElementsAre("clean up", "~local"));
  }

 private:
  // Outlives its coroutines.
  std::function<Task<>(Context& ctx)> wait_;
};

TEST_F(CoroutineCancelTest, DuringReceive) {
  StartCleaningUp([](Context& ctx) -> Task<> { co_await ctx.Receive(); });
  EXPECT_EQ(Cancel(), ACTORD_STEP_BLOCK);
  ExpectCleanUpAndEnd();
}

TEST_F(CoroutineCancelTest, DuringSelectiveReceive) {
  StartCleaningUp(
      [](Context& ctx) -> Task<> { co_await ctx.Receive("topic"); });
  EXPECT_EQ(Cancel(), ACTORD_STEP_BLOCK);
  ExpectCleanUpAndEnd();
}

TEST_F(CoroutineCancelTest, DuringRunItsLateCompletionIsDropped) {
  StartCleaningUp(
      [](Context& ctx) -> Task<> { (void)co_await ctx.Run("work"); });
  const Tag work = TheTag();
  EXPECT_EQ(Cancel(), ACTORD_STEP_BLOCK);
  const auto yields = process().yields;
  EXPECT_EQ(Complete(work, "late"), ACTORD_STEP_BLOCK);
  process().yields = yields;
  ExpectCleanUpAndEnd();
}

TEST_F(CoroutineCancelTest, DuringContinue) {
  StartCleaningUp([](Context& ctx) -> Task<> {
    while (true) co_await ctx.Continue();
  });
  EXPECT_EQ(Step(), ACTORD_STEP_CONTINUE);
  EXPECT_EQ(Cancel(), ACTORD_STEP_BLOCK);
  ExpectCleanUpAndEnd();
}

TEST_F(CoroutineCancelTest, DuringSleep) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_await ctx.Sleep(1h);
    co_return "";
  });
  EXPECT_EQ(Cancel(), ACTORD_STEP_FAIL);
  EXPECT_EQ(process().failure, Code::kCancelled);
  EXPECT_EQ(process().failure_text, "enough");
}

TEST_F(CoroutineCancelTest, CancelInANestedTaskUnwindsThroughAllTasks) {
  const auto inner = [this](Context& ctx) -> Task<> {
    const Destroyed destroyed(trace_, "inner");
    co_await ctx.Receive();
  };
  Start([&](Context& ctx) -> Task<Result<>> {
    const Destroyed destroyed(trace_, "outer");
    co_await inner(ctx);
    co_return "";
  });
  EXPECT_EQ(Cancel(), ACTORD_STEP_FAIL);
  EXPECT_THAT(trace_, ElementsAre("~inner", "~outer"));
}

TEST_F(CoroutineCancelTest, CancelBeforeTheFirstStepArrivesAtTheFirstWait) {
  ScriptCoroutine::body = [this](Context& ctx) -> Task<Result<>> {
    trace_.emplace_back("started");
    co_await ctx.Receive();
    co_return "";
  };
  process_ = std::make_unique<FakeProcess>(kProcessType<ScriptCoroutine>);
  ASSERT_EQ(process().Init(), ACTORD_OK);
  EXPECT_EQ(Cancel(), ACTORD_STEP_FAIL);
  EXPECT_THAT(trace_, ElementsAre("started"));
}

TEST_F(CoroutineCancelTest, CancelIsDeliveredOnce) {
  StartCleaningUp([](Context& ctx) -> Task<> { co_await ctx.Receive(); });
  process().Cancel("enough");
  EXPECT_EQ(Cancel("again"), ACTORD_STEP_BLOCK);
  ExpectCleanUpAndEnd();
}

TEST_F(CoroutineCancelTest, ReachesEveryPartOfWhenAll) {
  const auto part = [this](Context& ctx, std::string name) -> Task<> {
    const Destroyed destroyed(trace_, name);
    try {
      co_await ctx.Receive(name);
    } catch (const Cancelled&) {
      trace_.push_back(name);
    }
    co_await ctx.Continue();
  };
  Start([&](Context& ctx) -> Task<Result<>> {
    co_await WhenAll(part(ctx, "a"), part(ctx, "b"));
    co_return "all";
  });
  EXPECT_EQ(Cancel(), ACTORD_STEP_CONTINUE);
  EXPECT_THAT(trace_, ElementsAre("a", "b"));
  EXPECT_EQ(Step(), ACTORD_STEP_DONE);
}

TEST_F(CoroutineCancelTest, CancelOfWhenAnyLetsEveryPartCleanUp) {
  const auto part = [this](Context& ctx, std::string name) -> Task<> {
    const auto received = co_await Try(ctx.Receive(name));
    trace_.push_back(name);
    (co_await ctx.Run("clean.up")).value();
    trace_.push_back(name + " cleaned up");
    throw Failure(received.status());
  };
  // Rethrows Cancelled, like code that does not handle it.
  const auto passing = [&](Context& ctx, std::string name) -> Task<> {
    const auto done = co_await Try(part(ctx, std::move(name)));
    throw Cancelled(std::string(done.error().message));
  };
  Start([&](Context& ctx) -> Task<Result<>> {
    co_await WhenAny(passing(ctx, "a"), passing(ctx, "b"));
    co_return "";
  });
  EXPECT_EQ(Cancel(), ACTORD_STEP_BLOCK);
  ASSERT_EQ(process().yields.size(), 2u);
  process().Complete(process().yields[0].tag);
  EXPECT_EQ(Complete(process().yields[1].tag), ACTORD_STEP_FAIL);
  EXPECT_EQ(process().failure, Code::kCancelled);
  EXPECT_THAT(trace_, ElementsAre("a", "b", "a cleaned up", "b cleaned up"));
}

TEST_F(CoroutineCancelTest, DuringWithTimeout) {
  StartCleaningUp([](Context& ctx) -> Task<> {
    co_await ctx.WithTimeout(ctx.Receive(), 1s);
  });
  const Tag timer = TheTag();
  EXPECT_EQ(Cancel(), ACTORD_STEP_BLOCK);
  const auto yields = process().yields;
  Pass(1s);
  EXPECT_EQ(Complete(timer), ACTORD_STEP_BLOCK);
  process().yields = yields;
  ExpectCleanUpAndEnd();
}

TEST_F(CoroutineCancelTest, ShieldHoldsTheCancelBackUntilTheNextWait) {
  StartCleaningUp([this](Context& ctx) -> Task<> {
    const auto paid = co_await ctx.Shield(ctx.Run("charge"));
    trace_.emplace_back(paid.value().bytes);
    (void)co_await ctx.Run("never handed out");
  });
  const Tag charge = TheTag();
  EXPECT_EQ(Cancel(), ACTORD_STEP_BLOCK);
  EXPECT_TRUE(process().yields.empty());
  EXPECT_TRUE(trace_.empty());
  EXPECT_EQ(Complete(charge, "receipt"), ACTORD_STEP_BLOCK);
  ASSERT_EQ(trace_.front(), "receipt");
  trace_.erase(trace_.begin());
  ExpectCleanUpAndEnd();
}

TEST_F(CoroutineCancelTest, ShieldedCancelReachesALaterWaitForSeveral) {
  Start([](Context& ctx) -> Task<Result<>> {
    (void)co_await ctx.Shield(ctx.Run("charge"));
    co_await WhenAll(ctx.Receive("a"), ctx.Receive("b"));
    co_return "";
  });
  const Tag charge = TheTag();
  EXPECT_EQ(Cancel(), ACTORD_STEP_BLOCK);
  EXPECT_EQ(Complete(charge), ACTORD_STEP_FAIL);
  EXPECT_EQ(process().failure, Code::kCancelled);
}

TEST_F(CoroutineCancelTest, ShieldedCancelReachesALaterWaitWithATimeout) {
  Start([](Context& ctx) -> Task<Result<>> {
    (void)co_await ctx.Shield(ctx.Run("charge"));
    (void)co_await ctx.WithTimeout(ctx.Receive(), 30s);
    co_return "";
  });
  const Tag charge = TheTag();
  EXPECT_EQ(Cancel(), ACTORD_STEP_BLOCK);
  EXPECT_EQ(Complete(charge), ACTORD_STEP_FAIL);
  EXPECT_EQ(process().failure, Code::kCancelled);
}

// One timer ends both sleeps. The first sleeper to resume lowers the shield
// that has held the cancel back.
TEST_F(CoroutineCancelTest, ShieldedCancelReachesCoroutinesDueAtTheSameMoment) {
  const auto shielded = [](Context& ctx) -> Task<> {
    co_await ctx.Shield(ctx.Sleep(1s));
    co_await ctx.Receive();
  };
  const auto plain = [](Context& ctx) -> Task<> {
    co_await ctx.Sleep(1s);
    co_await ctx.Receive();
  };
  Start([&](Context& ctx) -> Task<Result<>> {
    co_await WhenAll(shielded(ctx), plain(ctx));
    co_return "";
  });
  const Tag timer = TheTag();
  EXPECT_EQ(Cancel(), ACTORD_STEP_BLOCK);
  Pass(1s);
  EXPECT_EQ(Complete(timer), ACTORD_STEP_FAIL);
  EXPECT_EQ(process().failure, Code::kCancelled);
}

TEST_F(CoroutineCancelTest, AfterAShieldAnUncancelledEndIsPossible) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_return co_await ctx.Shield(ctx.Run("charge"));
  });
  const Tag charge = TheTag();
  Cancel();
  EXPECT_EQ(Complete(charge, "receipt"), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "receipt");
}

TEST_F(CoroutineCancelTest, ShieldsOfTwoBranchesBothHoldTheCancelBack) {
  Start([](Context& ctx) -> Task<Result<>> {
    const auto shielded = [](Context& own, std::string command) -> Task<> {
      (void)co_await own.Shield(own.Run(std::move(command)));
      co_await own.Receive();
    };
    co_await WhenAll(shielded(ctx, "a"), shielded(ctx, "b"));
    co_return "";
  });
  const Tag a = process().yields.at(0).tag;
  const Tag b = process().yields.at(1).tag;
  EXPECT_EQ(Cancel(), ACTORD_STEP_BLOCK);
  EXPECT_EQ(Complete(a), ACTORD_STEP_IDLE) << "the other one holds it back";
  EXPECT_EQ(Complete(b), ACTORD_STEP_FAIL);
  EXPECT_EQ(process().failure, Code::kCancelled);
}

TEST_F(CoroutineCancelTest, ShieldThatLosesNoLongerHoldsTheCancelBack) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_await WhenAny(ctx.Shield(ctx.Run("slow")), ctx.Receive("go"));
    co_await ctx.Receive();
    co_return "";
  });
  EXPECT_EQ(Message("go"), ACTORD_STEP_IDLE);
  EXPECT_EQ(Cancel(), ACTORD_STEP_FAIL);
}

TEST_F(CoroutineCancelTest, TryMakesTheCancelAnError) {
  Start([](Context& ctx) -> Task<Result<>> {
    const auto slept = co_await Try(ctx.Sleep(1h));
    EXPECT_FALSE(slept.ok());
    EXPECT_EQ(slept.error().code, Code::kCancelled);
    co_return std::string(slept.error().message);
  });
  EXPECT_EQ(Cancel("why"), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "why");
}

TEST_F(CoroutineCancelTest, TryPassesOtherExceptionsOn) {
  const auto broken = [](Context& ctx) -> Task<> {
    co_await ctx.Receive();
    throw std::runtime_error("boom");
  };
  Start([&](Context& ctx) -> Task<Result<>> {
    const auto tried = co_await Try(broken(ctx));
    co_return "";
  });
  EXPECT_EQ(Message("any"), ACTORD_STEP_THREW);
}

}  // namespace
}  // namespace actord
