#include "daemon/streams/held_receivers.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"

namespace actord::daemon {
namespace {

const absl::Status kFull = absl::ResourceExhaustedError("full");

TEST(HeldReceivers, AreHeldUntilTheClientHasSeenTheLastRefusal) {
  HeldReceivers held;
  held.Refused("a", 3, kFull);
  held.Refused("b", 4, absl::NotFoundError("it would be refused again"));
  held.Refused("a", 5, *held.Find("a"));
  EXPECT_EQ(held.Find("b"), nullptr);
  held.Seen(5);
  ASSERT_NE(held.Find("a"), nullptr);
  EXPECT_EQ(*held.Find("a"), kFull);
  held.Seen(6);
  EXPECT_EQ(held.Find("a"), nullptr);
  // An older count changes nothing.
  held.Refused("a", 7, kFull);
  held.Seen(6);
  EXPECT_NE(held.Find("a"), nullptr);
}

TEST(HeldReceivers, ThereAreOnlySoMany) {
  HeldReceivers held;
  for (size_t i = 0; i < HeldReceivers::kMax; ++i) {
    held.Refused(std::to_string(i), i, kFull);
  }
  EXPECT_TRUE(held.Check().ok());
  held.Refused("one more", HeldReceivers::kMax, kFull);
  EXPECT_TRUE(absl::IsInvalidArgument(held.Check()));
  held.Seen(1);
  EXPECT_TRUE(held.Check().ok());
}

}  // namespace
}  // namespace actord::daemon
