#include "runtime/journal/committer.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace actord::runtime {
namespace {

TEST(LoneCallers, CallersCommitOnlyWhileEachGroupHasOneOfThem) {
  constexpr LoneCallers::Group kLone{
      .waits = 1, .callers = 1, .by_caller = false, .took_ns = 0};
  constexpr LoneCallers::Group kByCaller{
      .waits = 1, .callers = 1, .by_caller = true, .took_ns = 0};
  constexpr LoneCallers::Group kNobody{
      .waits = 0, .callers = 0, .by_caller = false, .took_ns = 0};
  LoneCallers callers(2);
  const auto learn = [&] {
    callers.Committed(kLone);
    EXPECT_FALSE(callers.MayCommit());
    callers.Committed(kNobody);
    callers.Committed(kLone);
    EXPECT_TRUE(callers.MayCommit());
  };
  learn();
  for (uint32_t i = 0; i < LoneCallers::kCallersInARow; ++i) {
    EXPECT_TRUE(callers.MayCommit());
    callers.Committed(kByCaller);
  }
  EXPECT_FALSE(callers.MayCommit()) << "the commit thread has a look";
  callers.Committed(kLone);
  EXPECT_TRUE(callers.MayCommit());
  for (const LoneCallers::Group& crowd :
       {LoneCallers::Group{.waits = 2, .callers = 2},
        LoneCallers::Group{.waits = 1, .callers = 0},
        LoneCallers::Group{.waits = 2, .callers = 1, .by_caller = true},
        LoneCallers::Group{
            .waits = 1, .callers = 1, .took_ns = LoneCallers::kSlowNs + 1}}) {
    callers.Committed(crowd);
    EXPECT_FALSE(callers.MayCommit());
    learn();
  }
}

}  // namespace
}  // namespace actord::runtime
