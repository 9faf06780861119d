#include "daemon/log/line_spacing.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace actord::daemon {
namespace {

constexpr uint64_t kStart = 1'000;

TEST(LineSpacing, AdmitsOneLineOfEachKindInItsSpaceAndCountsTheOthers) {
  LineSpacing spacing;
  EXPECT_EQ(spacing.Admit("a", kStart), 0u);
  EXPECT_EQ(spacing.Admit("a", kStart + 1), std::nullopt);
  EXPECT_EQ(spacing.Admit("b", kStart + 1), 0u);
  const uint64_t next = kStart + LineSpacing::kSpaceNs;
  EXPECT_EQ(spacing.Admit("a", next - 1), std::nullopt);
  EXPECT_EQ(spacing.Admit("a", next), 2u);
  EXPECT_EQ(spacing.Admit("a", next + LineSpacing::kSpaceNs), 0u);
}

TEST(LineSpacing, AdmitsABurstAndThenOneLineInEachSpace) {
  constexpr uint64_t kSpaceNs = 1'000'000'000;
  LineSpacing spacing(kSpaceNs, 3);
  EXPECT_EQ(spacing.Admit("a", kStart), 0u);
  EXPECT_EQ(spacing.Admit("a", kStart), 0u);
  EXPECT_EQ(spacing.Admit("a", kStart), 0u);
  EXPECT_EQ(spacing.Admit("a", kStart), std::nullopt);
  EXPECT_EQ(spacing.Admit("b", kStart), 0u);
  EXPECT_EQ(spacing.Admit("a", kStart + kSpaceNs - 1), std::nullopt);
  EXPECT_EQ(spacing.Admit("a", kStart + kSpaceNs), 2u);
  EXPECT_EQ(spacing.Admit("a", kStart + kSpaceNs), std::nullopt);
  // The bucket is full again.
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(spacing.Admit("a", kStart + 10 * kSpaceNs).has_value()) << i;
  }
  EXPECT_EQ(spacing.Admit("a", kStart + 10 * kSpaceNs), std::nullopt);
}

TEST(LineSpacing, ShareOneSpaceBeyondTheMaximumOfKinds) {
  LineSpacing spacing;
  for (size_t i = 0; i < LineSpacing::kMaxKinds; ++i) {
    EXPECT_EQ(spacing.Admit(std::to_string(i), kStart), 0u);
  }
  EXPECT_EQ(spacing.Admit("one more", kStart), 0u);
  EXPECT_EQ(spacing.Admit("another", kStart), std::nullopt);
  EXPECT_EQ(spacing.Admit("0", kStart), std::nullopt);
}

}  // namespace
}  // namespace actord::daemon
