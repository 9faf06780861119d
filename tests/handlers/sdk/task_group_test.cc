#include <actord/task_group.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "tests/handlers/sdk/task_group_fixture.h"

namespace actord {
namespace {

TEST_F(TaskGroupTest, WithoutTasksWaitDoesNotWait) {
  EXPECT_EQ(Begin([](Context& ctx) -> Task<Result<>> {
              TaskGroup group(ctx);
              EXPECT_EQ(group.running(), 0u);
              co_await group.Wait();
              co_await group.Wait();
              co_return "";
            }),
            ACTORD_STEP_DONE);
}

TEST_F(TaskGroupTest, TasksThatEndAtOnceNeedNoWait) {
  EXPECT_EQ(Begin([](Context& ctx) -> Task<Result<>> {
              TaskGroup group(ctx, 1);
              for (int i = 0; i < 100'000; ++i) co_await group.Start(Nothing());
              EXPECT_EQ(group.running(), 0u);
              co_await group.Wait();
              co_return "";
            }),
            ACTORD_STEP_DONE);
}

TEST_F(TaskGroupTest, TasksRunBesideEachOther) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx);
    for (const char* name : {"a", "b", "c"}) {
      co_await group.Start(Job(ctx, name));
    }
    EXPECT_EQ(group.running(), 3u);
    co_await group.Wait();
    EXPECT_EQ(group.running(), 0u);
    trace_.emplace_back("all");
    co_return "";
  });
  EXPECT_THAT(Take(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(End("b"), ACTORD_STEP_BLOCK);
  EXPECT_THAT(Take(), ElementsAre("b done", "~b"));
  EXPECT_EQ(End("a"), ACTORD_STEP_BLOCK);
  EXPECT_EQ(End("c"), ACTORD_STEP_DONE);
  EXPECT_THAT(Take(), ElementsAre("a done", "~a", "c done", "~c", "all"));
}

TEST_F(TaskGroupTest, StartWaitsAtTheLimit) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx, 2);
    for (int i = 0; i < 4; ++i) {
      co_await group.Start(Job(ctx, std::to_string(i)));
      EXPECT_LE(group.running(), 2u);
    }
    trace_.emplace_back("all begun");
    co_await group.Wait();
    co_return "";
  });
  EXPECT_THAT(Take(), ElementsAre("0", "1"));
  EXPECT_EQ(End("1"), ACTORD_STEP_BLOCK);
  EXPECT_THAT(Take(), ElementsAre("1 done", "~1", "2"));
  // Two ends in one step.
  process().Complete(TagOf("0"));
  EXPECT_EQ(End("2"), ACTORD_STEP_BLOCK);
  EXPECT_THAT(Take(),
              ElementsAre("0 done", "~0", "3", "all begun", "2 done", "~2"));
  EXPECT_EQ(End("3"), ACTORD_STEP_DONE);
}

TEST_F(TaskGroupTest, LimitOfZeroCountsAsOne) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx, 0);
    co_await group.Start(Job(ctx, "a"));
    co_await group.Start(Job(ctx, "b"));
    co_await group.Wait();
    co_return "";
  });
  EXPECT_THAT(Take(), ElementsAre("a"));
  EXPECT_EQ(End("a"), ACTORD_STEP_BLOCK);
  EXPECT_EQ(End("b"), ACTORD_STEP_DONE);
}

TEST_F(TaskGroupTest, ManyTasksEndInAnyOrder) {
  constexpr int kTasks = 1000;
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx);
    for (int i = 0; i < kTasks; ++i) {
      co_await group.Start(Job(ctx, std::to_string(i)));
    }
    co_await group.Wait();
    co_return "";
  });
  for (int i = 0; i < kTasks; ++i) {
    process().Complete(TagOf(std::to_string((i * 7919) % kTasks)));
  }
  EXPECT_EQ(Step(), ACTORD_STEP_DONE);
}

TEST_F(TaskGroupTest, FailureDestroysTheOthersAndIsThrown) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx);
    for (const char* name : {"a", "b", "c"}) {
      co_await group.Start(Job(ctx, name));
    }
    try {
      co_await group.Wait();
    } catch (const Failure& failure) {
      trace_.emplace_back(failure.what());
    }
    EXPECT_EQ(group.running(), 0u);
    // As a new group.
    co_await group.Start(Job(ctx, "d"));
    co_await group.Wait();
    co_return "";
  });
  Take();
  EXPECT_EQ(End("b", Code::kAborted), ACTORD_STEP_BLOCK);
  EXPECT_THAT(Take(), ElementsAre("~b", "~a", "~c", "why", "d"));
  EXPECT_THAT(process().given_up, ElementsAre(TagOf("a"), TagOf("c")));
  EXPECT_EQ(End("d"), ACTORD_STEP_DONE);
}

TEST_F(TaskGroupTest, FirstFailureIsThrown) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx);
    for (const char* name : {"a", "b"}) co_await group.Start(Job(ctx, name));
    co_await ctx.Receive();
    try {
      co_await group.Wait();
    } catch (const Failure& failure) {
      trace_.emplace_back(CodeName(failure.status().code()));
    }
    co_return "";
  });
  Take();
  EXPECT_EQ(End("b", Code::kAborted), ACTORD_STEP_IDLE);
  EXPECT_EQ(End("a", Code::kInternal), ACTORD_STEP_IDLE);
  EXPECT_EQ(Message("go"), ACTORD_STEP_DONE);
  EXPECT_THAT(Take(), ElementsAre("~b", "~a", "ABORTED"));
}

TEST_F(TaskGroupTest, StartThrowsTheFailure) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx, 2);
    for (const char* name : {"a", "b", "c"}) {
      try {
        co_await group.Start(Job(ctx, name));
      } catch (const Failure& failure) {
        trace_.push_back(std::string("start: ") + failure.what());
      }
    }
    co_await group.Wait();
    co_return "";
  });
  Take();
  EXPECT_EQ(End("a", Code::kAborted), ACTORD_STEP_FAIL);
  EXPECT_THAT(Take(), ElementsAre("~a", "start: why", "~b"));
  EXPECT_EQ(process().failure, Code::kAborted);
}

TEST_F(TaskGroupTest, StartThrowsAtOnce) {
  Begin([this](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx);
    co_await group.Start(Job(ctx, "a"));
    try {
      co_await group.Start(Throw("at once"));
    } catch (const std::runtime_error& error) {
      trace_.push_back(std::string("start: ") + error.what());
    }
    try {
      co_await group.Wait();
    } catch (const std::runtime_error& error) {
      trace_.push_back(std::string("wait: ") + error.what());
    }
    co_return "";
  });
  EXPECT_THAT(Take(),
              ElementsAre("a", "start: at once", "~a", "wait: at once"));
}

TEST_F(TaskGroupTest, ATaskMayStartOthers) {
  std::function<Task<>(Context&, TaskGroup&, int)> tree;
  tree = [&](Context& ctx, TaskGroup& group, int depth) -> Task<> {
    (co_await ctx.Run("node")).value();
    for (int i = 0; depth > 0 && i < 2; ++i) {
      co_await group.Start(tree(ctx, group, depth - 1));
    }
  };
  Begin([&](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx);
    co_await group.Start(tree(ctx, group, 3));
    co_await group.Wait();
    co_return "";
  });
  int nodes = 0;
  int32_t verdict = ACTORD_STEP_BLOCK;
  while (verdict == ACTORD_STEP_BLOCK && nodes < 100) {
    const auto yields = process().yields;
    for (const auto& yield : yields) process().Complete(yield.tag);
    nodes += static_cast<int>(yields.size());
    verdict = Step();
  }
  EXPECT_EQ(verdict, ACTORD_STEP_DONE);
  EXPECT_EQ(nodes, 15);
}

TEST_F(TaskGroupTest, NestedGroupFailsItsTask) {
  const auto outer = [this](Context& ctx) -> Task<> {
    TaskGroup inner(ctx);
    co_await inner.Start(Job(ctx, "x"));
    co_await inner.Start(Job(ctx, "y"));
    co_await inner.Wait();
  };
  Begin([&](Context& ctx) -> Task<Result<>> {
    TaskGroup group(ctx);
    co_await group.Start(Job(ctx, "a"));
    co_await group.Start(outer(ctx));
    co_await group.Wait();
    co_return "";
  });
  Take();
  EXPECT_EQ(End("y", Code::kAborted), ACTORD_STEP_FAIL);
  EXPECT_THAT(Take(), ElementsAre("~y", "~x", "~a"));
}

}  // namespace
}  // namespace actord
