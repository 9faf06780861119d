#include "runtime/system/random.h"

#include <gtest/gtest.h>

#include <set>

namespace actord::runtime {
namespace {

TEST(RandomNumbers, AreTheNumbersOfSplitMix64) {
  // The first numbers of the reference implementation for the seed 1234567.
  Random random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317u);
  EXPECT_EQ(random.Next(), 3203168211198807973u);
  EXPECT_EQ(random.Next(), 9817491932198370423u);
}

TEST(RandomNumbers, TheSystemsSeedsDiffer) {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 8; ++i) seeds.insert(Random::SystemSeed());
  EXPECT_EQ(seeds.size(), 8u);
}

}  // namespace
}  // namespace actord::runtime
