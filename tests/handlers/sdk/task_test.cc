#include <actord/task.h>

#include <stdexcept>
#include <string>

#include "tests/handlers/sdk/coroutine_fixture.h"

namespace actord {
namespace {

using TaskTest = CoroutineTest;

Task<int> Sum(Context& ctx, int n) {
  if (n == 0) co_return 0;
  if (n % 3 == 0) co_await ctx.Continue();
  co_return n + co_await Sum(ctx, n - 1);
}

TEST_F(TaskTest, TasksNest) {
  int32_t verdict = Start([](Context& ctx) -> Task<Result<>> {
    co_return std::to_string(co_await Sum(ctx, 100));
  });
  for (int i = 0; verdict == ACTORD_STEP_CONTINUE && i < 100; ++i) {
    verdict = Step();
  }
  EXPECT_EQ(verdict, ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "5050");
}

Task<int> One() { co_return 1; }

TEST_F(TaskTest, LoopOverTasksThatDoNotWaitNeedsNoStack) {
  Start([](Context&) -> Task<Result<>> {
    int sum = 0;
    for (int i = 0; i < 1'000'000; ++i) sum += co_await One();
    co_return std::to_string(sum);
  });
  EXPECT_EQ(process().result.bytes, "1000000");
}

Task<> ThrowAfterWaiting(Context& ctx) {
  co_await ctx.Receive();
  throw std::runtime_error("inner");
}

TEST_F(TaskTest, ExceptionOfATaskReachesItsCaller) {
  Start([](Context& ctx) -> Task<Result<>> {
    try {
      co_await ThrowAfterWaiting(ctx);
    } catch (const std::runtime_error& error) {
      co_return std::string(error.what());
    }
    co_return "nothing";
  });
  EXPECT_EQ(Message("any"), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "inner");
}

}  // namespace
}  // namespace actord
