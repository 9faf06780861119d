#include <actord/when.h>

#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "tests/handlers/sdk/coroutine_fixture.h"

namespace actord {
namespace {

using WhenTest = CoroutineTest;

TEST_F(WhenTest, AllGivesTheResultsInTheOrderOfItsParts) {
  Start([](Context& ctx) -> Task<Result<>> {
    const auto none = [](Context& own) -> Task<> { co_await own.Continue(); };
    auto [a, message, nothing, b] =
        co_await WhenAll(ctx.Run("a"), ctx.Receive(), none(ctx), ctx.Run("b"));
    static_assert(std::is_same_v<decltype(nothing), std::monostate>);
    co_return a.value().bytes + std::string(message.topic()) + b.value().bytes;
  });
  const auto yields = process().yields;
  ASSERT_EQ(yields.size(), 2u) << "both are under way at once";
  EXPECT_EQ(Complete(yields[1].tag, "B"), ACTORD_STEP_IDLE);
  EXPECT_EQ(Message("-"), ACTORD_STEP_BLOCK);
  EXPECT_EQ(Complete(yields[0].tag, "A"), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "A-B");
}

TEST_F(WhenTest, AllOfAVector) {
  Start([](Context& ctx) -> Task<Result<>> {
    std::vector<RunAwaiter> runs;
    for (int i = 0; i < 100; ++i) runs.push_back(ctx.Run(std::to_string(i)));
    std::string all;
    for (const auto& result : co_await WhenAll(std::move(runs))) {
      all += result->bytes;
    }
    co_return all;
  });
  const auto yields = process().yields;
  ASSERT_EQ(yields.size(), 100u);
  std::string all;
  for (size_t i = 100; i-- > 0;) {
    process().Complete(yields[i].tag, yields[i].command);
    all.insert(0, yields[i].command);
  }
  EXPECT_EQ(Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, all);
}

TEST_F(WhenTest, AllOfNothingDoesNotWait) {
  EXPECT_EQ(Start([](Context&) -> Task<Result<>> {
              const auto none = co_await WhenAll(std::vector<RunAwaiter>());
              co_return std::to_string(none.size());
            }),
            ACTORD_STEP_DONE);
}

TEST_F(WhenTest, AllThatEndAtOnceDoNotWait) {
  EXPECT_EQ(Start([](Context&) -> Task<Result<>> {
              const auto make = [](int i) -> Task<int> { co_return i; };
              auto [a, b] = co_await WhenAll(make(1), make(2));
              co_return std::to_string(a) + std::to_string(b);
            }),
            ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "12");
}

Task<int> ThrowOn(Context& ctx, std::string topic) {
  co_await ctx.Receive(topic);
  throw std::runtime_error(topic);
}

TEST_F(WhenTest, AllThrowsTheFirstExceptionWhenAllHaveEnded) {
  Start([this](Context& ctx) -> Task<Result<>> {
    try {
      co_await WhenAll(ThrowOn(ctx, "a"), ctx.Receive("b"), ThrowOn(ctx, "c"));
    } catch (const std::runtime_error& error) {
      trace_.emplace_back(error.what());
    }
    co_return "";
  });
  EXPECT_EQ(Message("c"), ACTORD_STEP_IDLE);
  EXPECT_EQ(Message("a"), ACTORD_STEP_IDLE);
  EXPECT_TRUE(trace_.empty());
  EXPECT_EQ(Message("b"), ACTORD_STEP_DONE);
  EXPECT_THAT(trace_, ElementsAre("a"));
}

TEST_F(WhenTest, AnyGivesTheFirstAndDestroysTheOthers) {
  const auto loser = [this](Context& ctx) -> Task<int> {
    const Destroyed destroyed(trace_, "loser");
    try {
      (void)co_await ctx.Run("slow");
    } catch (...) {
      trace_.emplace_back("caught");
    }
    co_return 1;
  };
  Start([&](Context& ctx) -> Task<Result<>> {
    auto first = co_await WhenAny(loser(ctx), ctx.Receive("go"));
    trace_.emplace_back("first");
    EXPECT_EQ(first.index(), 1u);
    co_await ctx.Receive("end");
    co_return std::string(std::get<1>(first).payload().bytes);
  });
  const Tag slow = TheTag();
  EXPECT_EQ(Message("go", "gone"), ACTORD_STEP_IDLE);
  EXPECT_THAT(trace_, ElementsAre("~loser", "first"));
  EXPECT_EQ(Complete(slow, "late"), ACTORD_STEP_IDLE) << "nobody waits for it";
  EXPECT_EQ(Message("end"), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "gone");
}

TEST_F(WhenTest, LateCompletionInTheSameStepIsDropped) {
  Start([](Context& ctx) -> Task<Result<>> {
    auto first = co_await WhenAny(ctx.Run("a"), ctx.Run("b"));
    const auto next = co_await ctx.Run("c");
    co_return std::to_string(first.index());
  });
  const auto yields = process().yields;
  process().Complete(yields.at(1).tag);
  EXPECT_EQ(Complete(yields.at(0).tag), ACTORD_STEP_BLOCK);
  EXPECT_EQ(Complete(TheTag()), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "1");
}

TEST_F(WhenTest, LosersTakeNoMessages) {
  Start([](Context& ctx) -> Task<Result<>> {
    auto first = co_await WhenAny(ctx.Receive("a"), ctx.Receive("b"));
    auto second = co_await ctx.Receive();
    co_return std::to_string(first.index()) + std::string(second.topic());
  });
  process().Message("b");
  EXPECT_EQ(Message("a"), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "1a");
}

// The losing parts are destroyed before the awaiting expression continues.
TEST_F(WhenTest, LosersTakeNoMessagesLaterInTheSameExpression) {
  Start([](Context& ctx) -> Task<Result<>> {
    std::string topics;
    topics += std::to_string(
        (co_await WhenAny(ctx.Receive("a"), ctx.Receive("b"))).index() +
        (co_await ctx.Receive("b")).bytes());
    co_return topics;
  });
  EXPECT_EQ(Message("a"), ACTORD_STEP_IDLE);
  EXPECT_EQ(Message("b"), ACTORD_STEP_DONE);
}

TEST_F(WhenTest, AnyThatEndsAtOnceStartsNoOther) {
  EXPECT_EQ(Start([](Context& ctx) -> Task<Result<>> {
              const auto now = []() -> Task<int> { co_return 7; };
              auto first = co_await WhenAny(now(), ctx.Run("never"));
              co_return std::to_string(std::get<0>(first));
            }),
            ACTORD_STEP_DONE);
  EXPECT_TRUE(process().yields.empty());
  EXPECT_EQ(process().result.bytes, "7");
}

TEST_F(WhenTest, AnyThrowsWhatTheFirstThrew) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_await WhenAny(ThrowOn(ctx, "a"), ctx.Run("slow"));
    co_return "";
  });
  EXPECT_EQ(Message("a"), ACTORD_STEP_THREW);
  EXPECT_EQ(process().failure_text, "Step threw: a");
}

TEST_F(WhenTest, ProcessThatEndsMeanwhileDestroysAllParts) {
  const auto part = [this](Context& ctx, std::string name) -> Task<> {
    const Destroyed destroyed(trace_, name);
    co_await ctx.Receive(name);
  };
  Start([&](Context& ctx) -> Task<Result<>> {
    co_await WhenAny(part(ctx, "a"), WhenAll(part(ctx, "b"), ctx.Sleep(1s)),
                     ctx.WithTimeout(part(ctx, "c"), 2s));
    co_return "";
  });
  process().Close();
  EXPECT_THAT(trace_, ::testing::UnorderedElementsAre("~a", "~b", "~c"));
}

TEST_F(WhenTest, TimeoutGivesTheResultInTime) {
  Start([](Context& ctx) -> Task<Result<>> {
    const auto message = co_await ctx.WithTimeout(ctx.Receive("pay"), 5s);
    co_return message ? message->payload().bytes : "late";
  });
  EXPECT_EQ(Message("pay", "7"), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "7");
}

TEST_F(WhenTest, TimeoutGivesNothingWhenTheTimeHasPassed) {
  const auto slow = [this](Context& ctx) -> Task<> {
    const Destroyed destroyed(trace_, "slow");
    co_await ctx.Receive();
  };
  Start([&](Context& ctx) -> Task<Result<>> {
    const bool in_time = co_await ctx.WithTimeout(slow(ctx), 5s);
    trace_.emplace_back(in_time ? "in time" : "late");
    co_return "";
  });
  Pass(5s);
  EXPECT_EQ(Complete(TheTag()), ACTORD_STEP_DONE);
  EXPECT_THAT(trace_, ElementsAre("~slow", "late"));
}

TEST_F(WhenTest, AwaitablesNest) {
  Start([](Context& ctx) -> Task<Result<>> {
    const auto tried = co_await Try(
        ctx.WithTimeout(WhenAll(ctx.Shield(ctx.Run("a")),
                                WhenAny(ctx.Receive("x"), ctx.Receive("y"))),
                        5s));
    EXPECT_TRUE(tried.ok());
    EXPECT_TRUE(tried->has_value());
    const auto& [a, any] = **tried;
    co_return a->bytes + std::to_string(any.index());
  });
  const Tag a = process().yields.at(0).tag;
  EXPECT_EQ(Complete(a, "A"), ACTORD_STEP_IDLE);
  EXPECT_EQ(Message("y"), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "A1");
}

}  // namespace
}  // namespace actord
