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

TEST(Releases, CallerThatCommitsReleasesOnItsThread) {
  Releases releases([](const absl::Status&) {});
  uint64_t durable = 0;
  std::string order;
  releases.OnWait([&order](uint64_t) { order += "waits "; },
                  [&durable](uint64_t) { return durable; });
  releases.After(10, [&order] { order += "first "; });
  releases.AfterHere(20, [&order] { order += "second "; });
  EXPECT_EQ(order, "waits waits ") << "nobody has committed";
  durable = 31;
  releases.AfterHere(30, [&order] { order += "third "; });
  EXPECT_EQ(order, "waits waits first second third ");
  EXPECT_FALSE(releases.Run());
}

TEST(Releases, ReleaseThatCommitsLeavesItsOwnToTheOneThatRuns) {
  Releases releases([](const absl::Status&) {});
  std::string order;
  releases.OnWait([](uint64_t) {},
                  [](uint64_t position) { return position + 1; });
  releases.AfterHere(10, [&] {
    releases.AfterHere(20, [&order] { order += "inner "; });
    order += "outer ";
  });
  EXPECT_EQ(order, "outer ") << "one release runs at a time";
  EXPECT_TRUE(releases.Run());
  EXPECT_EQ(order, "outer inner ");
}

TEST(Releases, CallerReleasesAfterTheStopAtOnceOrNever) {
  Releases releases([](const absl::Status&) {});
  releases.OnWait([](uint64_t) {}, [](uint64_t) { return uint64_t{0}; });
  releases.Durable(10);
  releases.Stop();
  int released = 0;
  releases.AfterHere(9, [&released] { ++released; });
  releases.AfterHere(10, [&released] { released += 10; });
  EXPECT_EQ(released, 1);
}

}  // namespace
}  // namespace actord::runtime
