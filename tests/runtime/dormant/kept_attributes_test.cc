// What a process keeps of its submission when it comes back into memory.
#include <gtest/gtest.h>

#include "runtime/passivator.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

class KeptAttributes : public ::testing::TestWithParam<bool> {
 protected:
  Pid New() {
    SubmitRequest request{"account", "", {"5", ""}, {}};
    request.priority = 7;
    request.durable = true;
    Pid pid;
    world_.runtime().admission.Submit(
        request, Pid{}, /*keep_result=*/GetParam(),
        [&pid](absl::StatusOr<Pid> begun) { pid = begun.value(); });
    world_.Settle();
    return pid;
  }
  // The process is in memory. Ends it.
  void ExpectAsSubmitted(const Pid& pid) {
    {
      const FoundProcess found = world_.runtime().processes.Find(pid);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->priority.load(), 7);
    }
    world_.Tell(pid, "end");
    EXPECT_EQ(world_.runtime().results.kept(), GetParam() ? 1U : 0U);
    const auto outcome = world_.Await(pid);
    ASSERT_TRUE(outcome->has_value());
    EXPECT_EQ((*outcome)->ok(), GetParam());
  }

  DurableWorld world_;
};

INSTANTIATE_TEST_SUITE_P(KeepsResultOrNot, KeptAttributes, ::testing::Bool());

TEST_P(KeptAttributes, OutliveACrash) {
  RuntimeOptions options;
  // The process comes back into memory at the start.
  options.durable.passivate_after = absl::InfiniteDuration();
  ASSERT_EQ(world_.Start(options), absl::OkStatus());
  const Pid pid = New();
  world_.Restart(/*keep_cache=*/false, options);
  ExpectAsSubmitted(pid);
}

TEST_P(KeptAttributes, OutliveDormancy) {
  ASSERT_EQ(world_.Start(), absl::OkStatus());
  const Pid pid = New();
  EXPECT_EQ(world_.store->CatchUp(), absl::OkStatus());
  for (int i = 0; i < 30 && !world_.runtime().processes.IsDormant(pid); ++i) {
    world_.runtime().passivator->LookIfDue();
    world_.Elapse(60 * kSecond);
  }
  ASSERT_TRUE(world_.runtime().processes.IsDormant(pid));
  world_.Tell(pid, "add", "1");
  ASSERT_FALSE(world_.runtime().processes.IsDormant(pid));
  ExpectAsSubmitted(pid);
}

}  // namespace
}  // namespace actord::runtime
