#include "runtime/system/assert.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/process/process.h"
#include "runtime/scheduler/ready_queues.h"

namespace actord::runtime {
namespace {

// Its threads, if it has any, stay out of the child.
class AssertDeathTest : public ::testing::Test {
 protected:
  AssertDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(AssertDeathTest, ABrokenInvariantPrintsOneLineAndAborts) {
  const int sleepers = 2;
  EXPECT_EXIT(
      ACTORD_ASSERT(sleepers == 3, "idle_workers.h (6)"),
      ::testing::KilledBySignal(SIGABRT),
      "^actord: broken invariant: idle_workers\\.h \\(6\\): sleepers == 3 "
      "\\(assert_test\\.cc:[0-9]+\\)\n$");
}

TEST_F(AssertDeathTest, ALongLineIsCutAtItsEnd) {
  const std::string text(2000, 'x');
  EXPECT_EXIT(ACTORD_ASSERT(text.empty(), text.c_str()),
              ::testing::KilledBySignal(SIGABRT), "invariant: x+\n$");
}

TEST(Assert, AConditionThatHoldsIsEvaluatedOnce) {
  int evaluated = 0;
  ACTORD_ASSERT(++evaluated == 1, "once");
  EXPECT_EQ(evaluated, 1);
  ACTORD_ASSERT_HOT(++evaluated == 2, "in each build with tests");
  EXPECT_EQ(evaluated, 2);
}

// An invariant of the runtime's own: see run_queue.h.
TEST_F(AssertDeathTest, TheHotPathIsCheckedInABuildWithTests) {
  ReadyQueues queues;
  Process process;
  ASSERT_TRUE(queues.Push(&process, kDefaultPriority));
  EXPECT_EXIT(queues.FoundEmpty(kDefaultPriority),
              ::testing::KilledBySignal(SIGABRT),
              "broken invariant: ready_queues\\.h \\(2\\): .*"
              "ready_queues\\.h:[0-9]+\\)\n$");
}

}  // namespace
}  // namespace actord::runtime
