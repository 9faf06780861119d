// Task groups of coroutines in the harness: in any order of the events, and
// where a durable process crashes after each step.
#include <gmock/gmock.h>

#include "tests/handlers/testing/durable_fixture.h"

namespace actord::durable_test {
namespace {

using actord::testing::ForEachSeed;

// Runs as many jobs as its input says, three at a time, and ends with the sum
// of their answers.
class Foreman : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "foreman";
  static constexpr actord::Method kMethods[] = {{"run", nullptr}};
  static constexpr Durability kDurability = Durability::kReplay;

  actord::Task<std::string> Main(Context& ctx, OwnedPayload input) {
    int sum = 0;
    TaskGroup group(ctx, 3);
    for (int i = std::atoi(input.bytes.c_str()); i > 0; --i) {
      co_await group.Start(Job(ctx, i, sum));
      ctx.Log(LogLevel::kInfo, std::to_string(i));
    }
    co_await group.Wait();
    co_return std::to_string(sum);
  }

 private:
  static actord::Task<> Job(Context& ctx, int number, int& sum) {
    co_await ctx.Sleep(std::chrono::milliseconds(ctx.random() % 8));
    const auto done = co_await ctx.Run("job", std::to_string(number));
    sum += std::atoi(done.value().bytes.c_str());
  }
};

const actord_plugin_info kForemen =
    actord::MakePlugin<actord::ProcessTypes<Foreman>>("foremen", "1");

void AnswerJobs(Harness& harness) {
  harness.Stub("job", [](const actord::testing::HeldYield& yield) -> Result<> {
    if (yield.payload.bytes == "13") {
      return Status(Code::kAborted, "thirteen");
    }
    return yield.payload;
  });
}

TEST(HarnessGroup, RunsAllJobsInAnyOrder) {
  ForEachSeed(50, [](uint64_t seed) {
    Harness harness(kForemen, {.seed = seed});
    AnswerJobs(harness);
    const Pid foreman = harness.Submit("foreman", "run", "10");
    harness.Advance(std::chrono::seconds(1));
    EXPECT_EQ(harness.ExpectResult(foreman).bytes, "55");
    EXPECT_EQ(harness.log().size(), 10u);
  });
}

TEST(HarnessGroup, GoesOnTheSameWhereItCrashesEverywhere) {
  ForEachSeed(20, [](uint64_t seed) {
    Harness harness(kForemen, {.seed = seed});
    harness.CrashEverywhere();
    AnswerJobs(harness);
    const Pid foreman = harness.Submit("foreman", "run", "10");
    const Pid unlucky = harness.Submit("foreman", "run", "13");
    harness.Advance(std::chrono::seconds(1));
    EXPECT_EQ(harness.ExpectResult(foreman).bytes, "55");
    EXPECT_EQ(harness.ExpectFailed(unlucky, Code::kAborted), "thirteen");
  });
}

}  // namespace
}  // namespace actord::durable_test
