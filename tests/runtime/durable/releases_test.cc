#include "runtime/durable/releases.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"

namespace actord::runtime {
namespace {

TEST(Releases, ReleaseAfterTheStopComesAtOnceOrNever) {
  Releases releases([](const absl::Status&) {});
  releases.Durable(10);
  releases.Stop();
  int released = 0;
  releases.After(9, [&released] { ++released; });
  releases.After(10, [&released] { released += 10; });
  EXPECT_EQ(released, 1);
}

TEST(Releases, ReleasesInTheOrderOfThePositions) {
  Releases releases([](const absl::Status&) {});
  std::string order;
  releases.After(30, [&order] { order += "c"; });
  releases.After(10, [&order] { order += "a"; });
  releases.After(20, [&order] { order += "b"; });
  releases.Durable(20);
  EXPECT_TRUE(releases.Run());
  EXPECT_EQ(order, "a") << "the record at 20 is not durable yet";
  releases.Durable(31);
  EXPECT_TRUE(releases.Run());
  EXPECT_EQ(order, "abc");
  EXPECT_FALSE(releases.Run());
}

}  // namespace
}  // namespace actord::runtime
