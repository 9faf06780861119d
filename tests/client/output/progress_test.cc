#include "client/output/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace actord::client {
namespace {

TEST(ProgressLine, ShowsShareCountsAndRate) {
  EXPECT_EQ(
      ProgressLine(
          {.begun = 60'000, .finished = 50'000, .failed = 2, .fraction = 0.5},
          absl::Seconds(2), 100),
      "[############------------] 50%  50,000 of 60,000 begun  25,000/s"
      "  2 failed");
}

TEST(ProgressLine, OmitsUnknownValues) {
  EXPECT_EQ(ProgressLine({.begun = 3, .finished = 1}, absl::ZeroDuration(), 80),
            "1 of 3 begun");
}

TEST(ProgressLine, StaysWithinTheTerminal) {
  EXPECT_EQ(ProgressLine({.begun = 3, .finished = 1}, absl::Seconds(1), 5),
            "1 of ");
}

TEST(Progress, WritesAtMostTenTimesASecond) {
  std::ostringstream err;
  Progress progress(err, true, 80);
  const absl::Time start = absl::UnixEpoch();
  progress.Update({}, start);
  const std::string first = err.str();
  EXPECT_FALSE(first.empty());
  progress.Update({}, start + absl::Milliseconds(99));
  EXPECT_EQ(err.str(), first);
  progress.Update({}, start + absl::Milliseconds(100));
  EXPECT_NE(err.str(), first);
}

TEST(Progress, ErasesItsLine) {
  std::ostringstream err;
  {
    Progress progress(err, true, 80);
    progress.Update({}, absl::UnixEpoch());
  }
  const std::string clear = "\r\x1b[K";
  ASSERT_GE(err.str().size(), clear.size());
  EXPECT_EQ(err.str().substr(err.str().size() - clear.size()), clear);
}

TEST(Progress, WritesNothingWithoutATerminal) {
  std::ostringstream err;
  {
    Progress progress(err, false, 80);
    progress.Update({}, absl::UnixEpoch());
  }
  EXPECT_EQ(err.str(), "");
}

}  // namespace
}  // namespace actord::client
