// Lower bounds for the runtime's scaling on the simulated machine.
#include "tests/sim/scaling/scaling.h"

#include <gtest/gtest.h>

#include <string>

namespace actord::sim {
namespace {

double RateOf(const std::string& load, int workers) {
  ScalingOptions options;
  options.load = load;
  options.workers = workers;
  return MeasureScaling(options).operations_per_us;
}

TEST(Scaling, PairsUseEachWorker) {
  EXPECT_GE(RateOf("pairs", 16), 14 * RateOf("pairs", 1));
}

TEST(Scaling, ProcessesThatContinueUseEachWorker) {
  EXPECT_GE(RateOf("continue", 16), 14 * RateOf("continue", 1));
}

TEST(Scaling, AGrowingTreeSpreads) {
  EXPECT_GE(RateOf("tree", 8), 3.5 * RateOf("tree", 1));
}

TEST(Scaling, WorkersWithoutWorkDoNotSlowDownARing) {
  EXPECT_GE(RateOf("ring", 32), 0.9 * RateOf("ring", 1));
}

TEST(Scaling, TheSameRunTakesTheSameTime) {
  EXPECT_EQ(RateOf("fan-in", 4), RateOf("fan-in", 4));
}

}  // namespace
}  // namespace actord::sim
