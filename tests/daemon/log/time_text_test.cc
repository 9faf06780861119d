#include "daemon/log/time_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>
#include <string>

namespace actord::daemon {
namespace {

std::string Text(int64_t unix_ms) {
  const TimeText text = ToTimeText(std::chrono::milliseconds(unix_ms));
  return {text.data(), text.size()};
}

TEST(TimeText, HasTheCalendarsEdges) {
  EXPECT_EQ(Text(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(Text(-1), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(Text(951'782'399'999), "2000-02-28T23:59:59.999Z");
  EXPECT_EQ(Text(951'782'400'000), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(Text(4'107'542'400'000), "2100-03-01T00:00:00.000Z");
  EXPECT_EQ(Text(1'738'324'800'042), "2025-01-31T12:00:00.042Z");
}

TEST(TimeText, AgreesWithTheCLibraryOverTwoCenturies) {
  // A prime number of seconds, about 20 days, so that all times of day occur.
  constexpr int64_t kSecondsApart = 1'727'989;
  for (int64_t seconds = 0; seconds < 6'311'433'600; seconds += kSecondsApart) {
    const std::time_t time = seconds;
    std::tm utc{};
    ASSERT_NE(gmtime_r(&time, &utc), nullptr);
    char expected[64];
    ASSERT_NE(std::strftime(expected, sizeof(expected),
                            "%Y-%m-%dT%H:%M:%S.007Z", &utc),
              0u);
    ASSERT_EQ(Text(seconds * 1000 + 7), expected);
  }
}

}  // namespace
}  // namespace actord::daemon
