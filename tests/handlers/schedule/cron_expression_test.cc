// Cron expressions: which ones are accepted, which are refused, and the times
// that they name.
#include "handlers/schedule/cron_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace actord::handlers {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year_month_day;
using ::testing::HasSubstr;

// The time of "2026-01-31 08:15".
int64_t At(const std::string& text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  EXPECT_EQ(std::sscanf(text.c_str(), "%d-%u-%u %d:%d", &year, &month, &day,
                        &hour, &minute),
            5)
      << text;
  const year_month_day date{std::chrono::year(year), std::chrono::month(month),
                            std::chrono::day(day)};
  EXPECT_TRUE(date.ok()) << text;
  return (sys_days(date).time_since_epoch() + hours(hour) + minutes(minute)) /
         seconds(1);
}

std::string TextOf(int64_t at) {
  const sys_days day{days(at / 86'400)};
  const year_month_day date(day);
  char text[64];
  std::snprintf(
      text, sizeof(text), "%04d-%02u-%02u %02d:%02d",
      static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
      static_cast<unsigned>(date.day()), static_cast<int>(at % 86'400 / 3'600),
      static_cast<int>(at % 3'600 / 60));
  return text;
}

CronExpression Read(const std::string& text) {
  Result<CronExpression> cron = CronExpression::Parse(text);
  EXPECT_TRUE(cron.ok()) << text << ": " << cron.status().message();
  return *std::move(cron);
}

TEST(CronExpression, NamesTheNextTimes) {
  const struct {
    const char* cron;
    const char* after;
    std::vector<std::string> next;
  } kCases[] = {
      {"* * * * *", "2026-01-31 23:59", {"2026-02-01 00:00"}},
      {"*/15 * * * *",
       "2026-01-31 23:31",
       {"2026-01-31 23:45", "2026-02-01 00:00", "2026-02-01 00:15"}},
      {"0 9-17 * * mon-fri",
       "2026-11-27 16:59",  // a Friday
       {"2026-11-27 17:00", "2026-11-30 09:00"}},
      {"30 4 1,15 * *",
       "2026-01-01 04:30",
       {"2026-01-15 04:30", "2026-02-01 04:30"}},
      // Both fields of days are restricted: one of them is enough.
      {"30 4 1,15 * 5",
       "2026-05-01 04:30",
       {"2026-05-08 04:30", "2026-05-15 04:30", "2026-05-22 04:30",
        "2026-05-29 04:30", "2026-06-01 04:30"}},
      // A field that begins with * restricts nothing, so both must match.
      {"0 0 */2 * mon", "2026-11-01 00:00", {"2026-11-09 00:00"}},
      {"0 0 13 * */5",
       "2026-01-01 00:00",
       {"2026-02-13 00:00", "2026-03-13 00:00", "2026-09-13 00:00"}},
      // Leap years, with and without those of a century.
      {"0 0 29 2 *",
       "2026-03-01 00:00",
       {"2028-02-29 00:00", "2032-02-29 00:00"}},
      {"0 0 29 2 *", "2096-02-29 00:00", {"2104-02-29 00:00"}},
      {"0 0 29 feb *", "1999-12-31 00:00", {"2000-02-29 00:00"}},
      // 29 February on a Sunday: each 28 years.
      {"0 0 29 2 */7",
       "2026-01-01 00:00",
       {"2032-02-29 00:00", "2060-02-29 00:00"}},
      {"0 0 */28 2 mon", "2026-01-01 00:00", {"2027-02-01 00:00"}},
      // Ends of months.
      {"0 0 31 * *",
       "2026-01-31 00:00",
       {"2026-03-31 00:00", "2026-05-31 00:00", "2026-07-31 00:00",
        "2026-08-31 00:00", "2026-10-31 00:00", "2026-12-31 00:00",
        "2027-01-31 00:00"}},
      {"0 0 30 */2 *", "2026-01-01 00:00", {"2026-01-30 00:00"}},
      // 30 February never comes, but a Monday in February does.
      {"0 0 30 2 1", "2026-01-01 00:00", {"2026-02-02 00:00"}},
      // Years.
      {"59 23 31 12 *",
       "2026-12-31 23:59",
       {"2027-12-31 23:59", "2028-12-31 23:59"}},
      {"0 0 1 1 *", "2026-12-31 23:59", {"2027-01-01 00:00"}},
      // Lists, ranges and steps.
      {"1,3,5-7,50-59/5 0 * * *",
       "2026-01-01 00:05",
       {"2026-01-01 00:06", "2026-01-01 00:07", "2026-01-01 00:50",
        "2026-01-01 00:55", "2026-01-02 00:01"}},
      {"5-59/20 * * * *",
       "2026-01-01 00:00",
       {"2026-01-01 00:05", "2026-01-01 00:25", "2026-01-01 00:45",
        "2026-01-01 01:05"}},
      {"*/40 * * * *",
       "2026-01-01 00:00",
       {"2026-01-01 00:40", "2026-01-01 01:00"}},
      {"59-59 23-23 1-31 1-12 0-7", "2026-01-01 00:00", {"2026-01-01 23:59"}},
      {"*/59 * * * *", "2026-01-01 00:00", {"2026-01-01 00:59"}},
      // 0 and 7 are Sunday.
      {"0 0 * * 0", "2026-11-26 00:00", {"2026-11-29 00:00"}},
      {"0 0 * * 7", "2026-11-26 00:00", {"2026-11-29 00:00"}},
      {"0 0 * * SUN", "2026-11-26 00:00", {"2026-11-29 00:00"}},
      {"0 0 * * 0-0",
       "2026-11-26 00:00",
       {"2026-11-29 00:00", "2026-12-06 00:00"}},
      {"0 0 * * sun-sun",
       "2026-11-26 00:00",
       {"2026-11-29 00:00", "2026-12-06 00:00"}},
      {"0 0 * * fri-sun",
       "2026-11-27 00:00",
       {"2026-11-28 00:00", "2026-11-29 00:00", "2026-12-04 00:00"}},
      {"0 0 * * 5-7",
       "2026-11-27 00:00",
       {"2026-11-28 00:00", "2026-11-29 00:00", "2026-12-04 00:00"}},
      {"0 0 * Jan,JUL-aug tue",
       "2026-01-28 00:00",
       {"2026-07-07 00:00", "2026-07-14 00:00"}},
      {"  0\t0   * * * ", "2026-01-01 00:00", {"2026-01-02 00:00"}},
      {"@hourly", "2026-01-01 22:59", {"2026-01-01 23:00"}},
      {"@daily", "2026-01-01 22:59", {"2026-01-02 00:00"}},
      {"@midnight", "2026-01-01 22:59", {"2026-01-02 00:00"}},
      {"@Weekly", "2026-11-26 22:59", {"2026-11-29 00:00"}},
      {"@monthly", "2026-12-26 22:59", {"2027-01-01 00:00"}},
      {"@yearly", "2026-12-26 22:59", {"2027-01-01 00:00"}},
      {"@annually", "2026-12-26 22:59", {"2027-01-01 00:00"}},
  };
  for (const auto& each : kCases) {
    const CronExpression cron = Read(each.cron);
    int64_t at = At(each.after);
    for (const std::string& expected : each.next) {
      const std::optional<int64_t> next = cron.Next(at);
      ASSERT_TRUE(next) << each.cron;
      EXPECT_EQ(TextOf(*next), expected)
          << each.cron << " after " << TextOf(at);
      at = *next;
    }
  }
}

TEST(CronExpression, InvalidExpressionIsRefusedWithTheReason) {
  const struct {
    const char* cron;
    const char* why;
  } kCases[] = {
      {"", "has 0 fields; it needs 5"},
      {"* * * *", "has 4 fields"},
      {"* * * * * *", "has 6 fields"},
      {"60 * * * *", "the minute has \"60\"; a value is from 0 to 59"},
      {"* 24 * * *", "the hour has \"24\"; a value is from 0 to 23"},
      {"* * 0 * *", "the day of month has \"0\"; a value is from 1 to 31"},
      {"* * 32 * *", "a value is from 1 to 31"},
      {"* * * 13 *", "a value is from 1 to 12, or a name from jan to dec"},
      {"* * * january *", "a name from jan to dec"},
      {"* * * * 8",
       "the day of week has \"8\"; a value is from 0 to 7, or a "
       "name from sun to sat"},
      {"* * * mon *", "the month has \"mon\""},
      {"-1 * * * *", "the minute has \"-1\""},
      {"1- * * * *", "the minute has \"1-\""},
      {"+1 * * * *", "the minute has \"+1\""},
      {"1.5 * * * *", "the minute has \"1.5\""},
      {"1,,2 * * * *", "the minute has \"\""},
      {", * * * *", "the minute has \"\""},
      {"5-1 * * * *", "from the lower to the higher"},
      {"* * * * sat-mon", "from the lower to the higher"},
      {"5/10 * * * *", "a step follows * or a range"},
      {"*/0 * * * *", "a step is from 1 to 59"},
      {"*/60 * * * *", "a step is from 1 to 59"},
      {"*/ * * * *", "a step is from 1 to 59"},
      {"*/-1 * * * *", "a step is from 1 to 59"},
      {"*/2/2 * * * *", "a step is from 1 to 59"},
      {"** * * * *", "the minute has \"**\""},
      {"*,x * * * *", "the minute has \"x\""},
      {"0 0 ? * *", "the day of month has \"?\""},
      {"0 0 L * *", "the day of month has \"L\""},
      {"0 0 * * 5#3", "the day of week has \"5#3\""},
      {"99999999999999999999 * * * *", "a value is from 0 to 59"},
      {"0 0 30 2 *", "names no date: no month of \"2\" has a day of \"30\""},
      {"0 0 30,31 feb *", "names no date"},
      {"0 0 31 4,6,9,11 *", "names no date"},
      {"0 0 30 2 */2", "names no date"},
      {"@reboot", "\"@reboot\" is not known; known are @hourly"},
      {"0 0 * * * root", "has 6 fields"},
  };
  for (const auto& each : kCases) {
    const Result<CronExpression> cron = CronExpression::Parse(each.cron);
    ASSERT_FALSE(cron.ok()) << each.cron;
    EXPECT_EQ(cron.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(cron.status().message(), HasSubstr(each.why)) << each.cron;
  }
  EXPECT_THAT(CronExpression::Parse(std::string(257, '*')).status().message(),
              HasSubstr("has 257 bytes; the limit is 256"));
}

// Count and Nth skip whole days; Next alone is the reference.
TEST(CronExpression, CountAndNthAgreeWithNext) {
  for (const char* const text :
       {"* * * * *", "*/7 3,9 * * *", "0 0 29 2 *", "30 4 1,15 * 5",
        "59 23 31 * *", "0 0 * * mon"}) {
    const CronExpression cron = Read(text);
    const int64_t begin = At("2026-02-27 13:37") + 11;
    std::vector<int64_t> times;
    for (int64_t at = begin; times.size() < 5'000;) {
      times.push_back(*cron.Next(at));
      at = times.back();
      if (at > At("2150-01-01 00:00")) break;
    }
    for (const size_t i :
         {size_t{0}, size_t{1}, times.size() / 2, times.size() - 1}) {
      EXPECT_EQ(cron.Nth(begin, i + 1), times[i]) << text;
      EXPECT_EQ(cron.Count(begin, times[i]), i + 1) << text;
      EXPECT_EQ(cron.Count(begin, times[i] - 1), i) << text;
      EXPECT_EQ(cron.Count(times[i], times[i]), 0u) << text;
    }
    EXPECT_EQ(cron.Count(times.back(), begin), 0u) << text;
  }
}

TEST(CronExpression, TimesBeforeTheEpochCount) {
  const CronExpression cron = Read("0 0 * * *");
  EXPECT_EQ(cron.Next(-1), 0);
  EXPECT_EQ(cron.Next(-86'401), -86'400);
  EXPECT_EQ(cron.Count(-86'401, 0), 2u);
}

}  // namespace
}  // namespace actord::handlers
