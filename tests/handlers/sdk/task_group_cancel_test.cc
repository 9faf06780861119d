// Task groups that are cancelled, or destroyed with running tasks.
#include <actord/task_group.h>
#include <actord/when.h>

#include <string>
#include <utility>

#include "tests/handlers/sdk/task_group_fixture.h"

namespace actord {
namespace {

TEST_F(TaskGroupTest, CancelLetsAllTasksCleanUp) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx);
    co_await group.Start(TidyJob(ctx, "a"));
    co_await group.Start(TidyJob(ctx, "b"));
    try {
      co_await group.Wait();
    } catch (const Cancelled& cancelled) {
      trace_.emplace_back(cancelled.what());
    }
    co_return "";
  });
  EXPECT_EQ(Note(Cancel()), ACTORD_STEP_BLOCK);
  EXPECT_EQ(End("tidy b"), ACTORD_STEP_BLOCK);
  EXPECT_EQ(End("tidy a"), ACTORD_STEP_DONE);
  EXPECT_THAT(Take(), ElementsAre("b is tidy", "a is tidy", "from b"));
}

TEST_F(TaskGroupTest, FailureDuringACancelWaitsForTheOthers) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx);
    for (const char* name : {"a", "b", "c"}) {
      co_await group.Start(TidyJob(ctx, name));
    }
    co_await group.Wait();
    co_return "";
  });
  EXPECT_EQ(Note(Cancel()), ACTORD_STEP_BLOCK);
  EXPECT_EQ(End("tidy a"), ACTORD_STEP_BLOCK);
  EXPECT_EQ(End("tidy b", Code::kAborted), ACTORD_STEP_BLOCK);
  EXPECT_EQ(End("tidy c"), ACTORD_STEP_FAIL);
  EXPECT_THAT(Take(), ElementsAre("a is tidy", "c is tidy"));
  EXPECT_EQ(process().failure, Code::kAborted) << "not CANCELLED";
}

TEST_F(TaskGroupTest, OwnerThatIsCancelledWaitsForItsTasks) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx);
    try {
      for (;;) {
        const auto message = co_await ctx.Receive();
        co_await group.Start(TidyJob(ctx, std::string(message.topic())));
      }
    } catch (const Cancelled&) {
      trace_.emplace_back("owner");
    }
    co_await group.Wait();
    co_return "";
  });
  EXPECT_EQ(Note(Message("a")), ACTORD_STEP_IDLE);
  EXPECT_EQ(Note(Cancel()), ACTORD_STEP_BLOCK);
  EXPECT_EQ(End("tidy a"), ACTORD_STEP_FAIL);
  EXPECT_THAT(Take(), ElementsAre("owner", "a is tidy"));
  EXPECT_EQ(process().failure, Code::kCancelled);
}

TEST_F(TaskGroupTest, StartThatWaitsThrowsCancelledWhenATaskDoes) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx, 1);
    co_await group.Start(Job(ctx, "a"));
    try {
      co_await group.Start(Job(ctx, "b"));
    } catch (const Cancelled&) {
      trace_.emplace_back("start");
    }
    co_return "";
  });
  Take();
  EXPECT_EQ(Cancel(), ACTORD_STEP_DONE);
  EXPECT_THAT(Take(), ElementsAre("~a", "start"));
}

TEST_F(TaskGroupTest, HeldBackCancelIsThrownByStart) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx);
    (co_await ctx.Shield(ctx.Run("shielded"))).value();
    try {
      co_await group.Start(Job(ctx, "a"));
    } catch (const Cancelled&) {
      trace_.emplace_back("start");
    }
    co_await group.Wait();
    co_return "";
  });
  EXPECT_EQ(Cancel(), ACTORD_STEP_BLOCK);
  EXPECT_EQ(End("shielded"), ACTORD_STEP_DONE);
  EXPECT_THAT(Take(), ElementsAre("start"));
}

TEST_F(TaskGroupTest, DestroyedGroupDestroysItsTasks) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    {
      TaskGroup group(ctx);
      co_await group.Start(Job(ctx, "a"));
      co_await group.Start(Job(ctx, "b"));
      co_await ctx.Receive();
    }
    trace_.emplace_back("behind");
    co_return "";
  });
  Take();
  EXPECT_EQ(Message("go"), ACTORD_STEP_DONE);
  EXPECT_THAT(Take(), ElementsAre("~a", "~b", "behind"));
  EXPECT_THAT(process().given_up, ElementsAre(TagOf("a"), TagOf("b")));
}

TEST_F(TaskGroupTest, ProcessThatEndsDestroysTasksAndWaits) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx, 2);
    const auto start = [&](std::string name) -> Task<> {
      co_await group.Start(Job(ctx, std::move(name)));
    };
    co_await WhenAll(start("a"), start("b"), start("c"), start("d"));
    co_return "";
  });
  EXPECT_THAT(Take(), ElementsAre("a", "b"));
  process().Close();
  EXPECT_THAT(Take(), ::testing::UnorderedElementsAre("~a", "~b"));
}

TEST_F(TaskGroupTest, StartThatIsGivenUpTakesNoPlace) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx, 1);
    co_await group.Start(Job(ctx, "a"));
    const auto impatient = [&]() -> Task<> {
      co_await WhenAny(ctx.Receive("stop"), group.Start(Job(ctx, "b")));
    };
    const auto patient = [&]() -> Task<> {
      co_await group.Start(Job(ctx, "c"));
    };
    co_await WhenAll(impatient(), patient());
    co_await group.Wait();
    co_return "";
  });
  Take();
  process().Message("stop");
  EXPECT_EQ(End("a"), ACTORD_STEP_BLOCK);
  EXPECT_THAT(Take(), ElementsAre("a done", "~a", "c"));
  EXPECT_EQ(End("c"), ACTORD_STEP_DONE);
}

// The task of 1 s ends, and its place is kept for b, whose turn has not come
// when its timeout gives it up.
TEST_F(TaskGroupTest, PlaceOfAStartThatIsGivenUpGoesToTheNext) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx, 1);
    const auto sleep = [&]() -> Task<> { co_await ctx.Sleep(1s); };
    co_await group.Start(sleep());
    const auto impatient = [&]() -> Task<> {
      const bool in_time =
          co_await ctx.WithTimeout(group.Start(Job(ctx, "b")), 1s);
      trace_.emplace_back(in_time ? "in time" : "given up");
    };
    const auto patient = [&]() -> Task<> {
      co_await group.Start(Job(ctx, "c"));
    };
    co_await WhenAll(impatient(), patient());
    co_await group.Wait();
    co_return "";
  });
  Pass(1s);
  EXPECT_EQ(End("timer.sleep"), ACTORD_STEP_BLOCK);
  EXPECT_THAT(Take(), ElementsAre("given up", "c"));
  EXPECT_EQ(End("c"), ACTORD_STEP_DONE);
}

TEST_F(TaskGroupTest, WaitWithATimeoutLeavesTheTasks) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx);
    co_await group.Start(Job(ctx, "a"));
    const bool in_time = co_await ctx.WithTimeout(group.Wait(), 1s);
    trace_.emplace_back(in_time ? "in time" : "late");
    co_await group.Wait();
    co_return "";
  });
  Take();
  Pass(1s);
  EXPECT_EQ(End("timer.sleep"), ACTORD_STEP_BLOCK);
  EXPECT_THAT(Take(), ElementsAre("late"));
  EXPECT_EQ(End("a"), ACTORD_STEP_DONE);
}

}  // namespace
}  // namespace actord
