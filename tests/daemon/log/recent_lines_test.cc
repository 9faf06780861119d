#include "daemon/log/recent_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace actord::daemon {
namespace {

using runtime::LogLevel;

std::vector<uint64_t> NumbersOf(const std::vector<RecentLine>& lines) {
  std::vector<uint64_t> numbers;
  for (const RecentLine& line : lines) numbers.push_back(line.number);
  return numbers;
}

TEST(RecentLines, ListsLinesOfALevelAfterANumber) {
  RecentLines lines;
  lines.Add(5, LogLevel::kInfo, "one");
  lines.Add(6, LogLevel::kWarning, "two");
  lines.Add(7, LogLevel::kDebug, "three");
  lines.Add(8, LogLevel::kError, "four");
  EXPECT_EQ(NumbersOf(lines.ListAfter(0, LogLevel::kDebug, 10)),
            (std::vector<uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(NumbersOf(lines.ListAfter(0, LogLevel::kWarning, 10)),
            (std::vector<uint64_t>{2, 4}));
  EXPECT_EQ(NumbersOf(lines.ListAfter(2, LogLevel::kInfo, 10)),
            (std::vector<uint64_t>{4}));
  EXPECT_EQ(NumbersOf(lines.ListAfter(0, LogLevel::kDebug, 2)),
            (std::vector<uint64_t>{1, 2}));
  EXPECT_TRUE(lines.ListAfter(4, LogLevel::kDebug, 10).empty());
  EXPECT_TRUE(lines.ListAfter(UINT64_MAX, LogLevel::kDebug, 10).empty());
  const RecentLine line = lines.ListAfter(1, LogLevel::kDebug, 1).at(0);
  EXPECT_EQ(line.unix_ns, 6u);
  EXPECT_EQ(line.level, LogLevel::kWarning);
  EXPECT_EQ(line.text, "two");
}

TEST(RecentLines, DropsTheOldestAboveTheNumberOfLines) {
  RecentLines lines;
  for (size_t i = 0; i < RecentLines::kMaxLines + 3; ++i) {
    lines.Add(1, LogLevel::kInfo, "x");
  }
  const auto kept =
      lines.ListAfter(0, LogLevel::kDebug, 2 * RecentLines::kMaxLines);
  ASSERT_EQ(kept.size(), RecentLines::kMaxLines);
  EXPECT_EQ(kept.front().number, 4u);
  EXPECT_EQ(kept.back().number, RecentLines::kMaxLines + 3);
  EXPECT_EQ(lines.ListAfter(2, LogLevel::kDebug, 1).at(0).number, 4u)
      << "the line after a dropped line";
}

TEST(RecentLines, DropsTheOldestAboveTheBytes) {
  RecentLines lines;
  const std::string text(RecentLines::kMaxBytes / 4, 'x');
  for (int i = 0; i < 6; ++i) lines.Add(1, LogLevel::kInfo, text);
  EXPECT_EQ(NumbersOf(lines.ListAfter(0, LogLevel::kDebug, 10)),
            (std::vector<uint64_t>{3, 4, 5, 6}));
  lines.Add(1, LogLevel::kInfo, "y");
  EXPECT_EQ(NumbersOf(lines.ListAfter(0, LogLevel::kDebug, 10)),
            (std::vector<uint64_t>{4, 5, 6, 7}));
}

}  // namespace
}  // namespace actord::daemon
