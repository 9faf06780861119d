#include "daemon/connections/admission.h"

#include <gtest/gtest.h>

namespace actord::daemon {
namespace {

TEST(LimitsFor, ZeroMeansWhatTheDescriptorsAllow) {
  const ConnectionLimits limits = LimitsFor(0, 0, 64, 1024);
  EXPECT_EQ(limits.max, 960u);
  EXPECT_EQ(limits.max_per_address, 480u);
  EXPECT_EQ(limits.first_reserved, 960u);
}

TEST(LimitsFor, ManyDescriptorsDoNotMeanMoreConnectionsThanTheDefaultLimit) {
  const ConnectionLimits limits = LimitsFor(0, 0, 64, 1'000'000);
  EXPECT_EQ(limits.max, 16384u);
  EXPECT_EQ(limits.max_per_address, 8192u);
  EXPECT_EQ(limits.first_reserved, 999'936u);
}

TEST(LimitsFor, ConfiguredLimitsHoldAlsoAboveTheDescriptors) {
  const ConnectionLimits limits = LimitsFor(5000, 20, 64, 1024);
  EXPECT_EQ(limits.max, 5000u);
  EXPECT_EQ(limits.max_per_address, 20u);
  EXPECT_EQ(limits.first_reserved, 960u);
  EXPECT_EQ(LimitsFor(100, 0, 64, 1024).max_per_address, 50u);
}

TEST(LimitsFor, ReserveAboveTheDescriptorsLeavesOneConnection) {
  const ConnectionLimits limits = LimitsFor(0, 0, 64, 10);
  EXPECT_EQ(limits.max, 1u);
  EXPECT_EQ(limits.max_per_address, 1u);
}

TEST(LimitsFor, UnlimitedDescriptorsAreNoOverflow) {
  EXPECT_EQ(LimitsFor(0, 0, 64, UINT64_MAX).first_reserved, UINT64_MAX - 64);
}

TEST(Admit, NamesTheLimitThatIsReached) {
  const ConnectionLimits limits{
      .max = 10, .max_per_address = 4, .first_reserved = 100};
  struct Case {
    int descriptor;
    size_t open;
    bool has_address;
    size_t open_of_address;
    Refusal refusal;
  };
  const Case cases[] = {
      {99, 9, true, 3, Refusal::kNone},
      {100, 9, true, 3, Refusal::kDescriptors},
      {99, 10, true, 3, Refusal::kTotal},
      {99, 9, true, 4, Refusal::kAddress},
      {99, 9, false, 9, Refusal::kNone},
      {100, 10, true, 4, Refusal::kDescriptors},
      {99, 10, true, 4, Refusal::kTotal},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(Admit(limits, each.descriptor, each.open, each.has_address,
                    each.open_of_address),
              each.refusal)
        << each.descriptor << " " << each.open << " " << each.open_of_address;
  }
}

}  // namespace
}  // namespace actord::daemon
