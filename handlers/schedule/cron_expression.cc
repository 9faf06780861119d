#include "handlers/schedule/cron_expression.h"

#include <actord/excerpt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <span>
#include <string>

namespace actord::handlers {
namespace {

constexpr int64_t kMinuteSeconds = 60;
constexpr int64_t kDayMinutes = int64_t{24} * 60;
// The calendar repeats after this number of days.
constexpr int64_t kDaysOf400Years = 146'097;

constexpr std::array<std::string_view, 12> kMonths = {
    "jan", "feb", "mar", "apr", "may", "jun",
    "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> kWeekdays = {
    "sun", "mon", "tue", "wed", "thu", "fri", "sat"};
constexpr int kSunday = 7;

struct FieldRule {
  std::string_view name;
  int min;
  int max;
  // The names of the values from `min` on.
  std::span<const std::string_view> names;
};
constexpr std::array<FieldRule, 5> kFields = {
    FieldRule{"minute", 0, 59, {}}, FieldRule{"hour", 0, 23, {}},
    FieldRule{"day of month", 1, 31, {}}, FieldRule{"month", 1, 12, kMonths},
    FieldRule{"day of week", 0, kSunday, kWeekdays}};

struct Shorthand {
  std::string_view name;
  std::string_view means;
};
constexpr std::array<Shorthand, 7> kShorthands = {{{"@hourly", "0 * * * *"},
                                                   {"@daily", "0 0 * * *"},
                                                   {"@midnight", "0 0 * * *"},
                                                   {"@weekly", "0 0 * * 0"},
                                                   {"@monthly", "0 0 1 * *"},
                                                   {"@yearly", "0 0 1 1 *"},
                                                   {"@annually", "0 0 1 1 *"}}};

// Days of the months of a leap year.
constexpr std::array<int, 12> kLongestMonth = {31, 29, 31, 30, 31, 30,
                                               31, 31, 30, 31, 30, 31};

constexpr uint64_t Bit(int64_t n) { return uint64_t{1} << n; }

constexpr int64_t FloorDivide(int64_t value, int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

bool IsSameWord(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) {
                      return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
                    });
}

Status Wrong(const FieldRule& rule, std::string_view part,
             const std::string& why) {
  return {Code::kInvalidArgument, "cron: the " + std::string(rule.name) +
                                      " has \"" + Excerpt(part) + "\"; " + why};
}

std::string ValuesOf(const FieldRule& rule) {
  std::string text = "a value is from " + std::to_string(rule.min) + " to " +
                     std::to_string(rule.max);
  if (!rule.names.empty()) {
    text += ", or a name from " + std::string(rule.names.front()) + " to " +
            std::string(rule.names.back());
  }
  return text;
}

// -1: `text` is not a number.
int ReadNumber(std::string_view text) {
  int number = -1;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole =
      error == std::errc() && end == text.data() + text.size();
  return is_whole && text.front() != '-' ? number : -1;
}

// -1: `text` is not a value of the field.
int ReadValue(const FieldRule& rule, std::string_view text) {
  for (size_t i = 0; i < rule.names.size(); ++i) {
    if (IsSameWord(text, rule.names[i])) return rule.min + static_cast<int>(i);
  }
  const int number = text.empty() ? -1 : ReadNumber(text);
  return number >= rule.min && number <= rule.max ? number : -1;
}

// One part of a list: *, a value or a range, with or without a step.
Result<uint64_t> ReadPart(const FieldRule& rule, std::string_view part) {
  const size_t slash = part.find('/');
  const std::string_view what = part.substr(0, slash);
  const size_t dash = what.find('-');
  int first = rule.min;
  int last = rule.max;
  if (what != "*") {
    first = ReadValue(rule, what.substr(0, dash));
    last = dash == what.npos ? first : ReadValue(rule, what.substr(dash + 1));
    // A week may end with the Sunday: fri-sun.
    if (&rule == &kFields.back() && dash != what.npos && last == 0 &&
        first > 0) {
      last = kSunday;
    }
    if (first < 0 || last < 0) return Wrong(rule, part, ValuesOf(rule));
    if (first > last) {
      return Wrong(rule, part,
                   "a range goes from the lower to the higher value");
    }
  }
  int step = 1;
  if (slash != part.npos) {
    if (what != "*" && dash == what.npos) {
      return Wrong(rule, part,
                   "a step follows * or a range, as in */10 or 5-59/10");
    }
    const std::string_view text = part.substr(slash + 1);
    step = text.empty() ? -1 : ReadNumber(text);
    if (step < 1 || step > rule.max) {
      return Wrong(rule, part,
                   "a step is from 1 to " + std::to_string(rule.max));
    }
  }
  uint64_t bits = 0;
  for (int value = first; value <= last; value += step) bits |= Bit(value);
  return bits;
}

Result<uint64_t> ReadField(const FieldRule& rule, std::string_view field) {
  uint64_t bits = 0;
  for (;;) {
    const size_t comma = field.find(',');
    const Result<uint64_t> part = ReadPart(rule, field.substr(0, comma));
    if (!part.ok()) return part.status();
    bits |= *part;
    if (comma == field.npos) return bits;
    field.remove_prefix(comma + 1);
  }
}

std::vector<std::string_view> SplitFields(std::string_view text) {
  std::vector<std::string_view> fields;
  constexpr std::string_view kBlanks = " \t";
  for (;;) {
    const size_t begin = text.find_first_not_of(kBlanks);
    if (begin == text.npos) return fields;
    const size_t end =
        std::min(text.find_first_of(kBlanks, begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

// Whether one of these months has one of these days in some year.
bool SomeMonthHas(uint64_t months, uint64_t days) {
  for (size_t i = 0; i < kLongestMonth.size(); ++i) {
    const uint64_t of_month = Bit(kLongestMonth[i] + 1) - 1;
    if ((months & Bit(static_cast<int64_t>(i) + 1)) != 0 &&
        (days & of_month) != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<CronExpression> CronExpression::Parse(std::string_view text) {
  if (text.size() > kMaxBytes) {
    return Status(Code::kInvalidArgument,
                  "cron: the expression has " + std::to_string(text.size()) +
                      " bytes; the limit is " + std::to_string(kMaxBytes));
  }
  std::vector<std::string_view> fields = SplitFields(text);
  if (fields.size() == 1 && fields[0].front() == '@') {
    const auto* const found = std::find_if(
        kShorthands.begin(), kShorthands.end(),
        [&](const Shorthand& one) { return IsSameWord(fields[0], one.name); });
    if (found == kShorthands.end()) {
      return Status(Code::kInvalidArgument,
                    "cron: \"" + Excerpt(fields[0]) +
                        "\" is not known; known are @hourly, @daily, "
                        "@midnight, @weekly, @monthly, @yearly and @annually");
    }
    fields = SplitFields(found->means);
  }
  if (fields.size() != kFields.size()) {
    return Status(Code::kInvalidArgument,
                  "cron: the expression has " + std::to_string(fields.size()) +
                      " fields; it needs 5: minute, hour, day of month, month, "
                      "day of week");
  }
  std::array<uint64_t, kFields.size()> bits = {};
  for (size_t i = 0; i < kFields.size(); ++i) {
    const Result<uint64_t> field = ReadField(kFields[i], fields[i]);
    if (!field.ok()) return field.status();
    bits[i] = *field;
  }
  const auto& [minutes, hours, days, months, weekdays] = bits;
  CronExpression parsed;
  for (int i = 0; i < static_cast<int>(kDayMinutes); ++i) {
    if ((hours & Bit(i / 60)) != 0 && (minutes & Bit(i % 60)) != 0) {
      parsed.minutes_.push_back(i);
    }
  }
  parsed.days_ = days;
  parsed.months_ = months;
  parsed.weekdays_ = weekdays;
  if ((weekdays & Bit(kSunday)) != 0) parsed.weekdays_ |= Bit(0);
  parsed.either_ = fields[2].front() != '*' && fields[4].front() != '*';
  if (!parsed.either_ && !SomeMonthHas(months, days)) {
    return Status(Code::kInvalidArgument,
                  "cron: the expression names no date: no month of \"" +
                      Excerpt(fields[3]) + "\" has a day of \"" +
                      Excerpt(fields[2]) + "\"");
  }
  return parsed;
}

int64_t CronExpression::NextDay(int64_t day, int64_t end) const {
  using std::chrono::sys_days;
  while (day < end) {
    const sys_days at{std::chrono::days(day)};
    const std::chrono::year_month_day date(at);
    if ((months_ & Bit(static_cast<unsigned>(date.month()))) == 0) {
      const sys_days next(
          (date.year() / date.month() + std::chrono::months(1)) / 1);
      day = next.time_since_epoch().count();
      continue;
    }
    const bool of_month = (days_ & Bit(static_cast<unsigned>(date.day()))) != 0;
    const bool of_week =
        (weekdays_ & Bit(std::chrono::weekday(at).c_encoding())) != 0;
    if (either_ ? of_month || of_week : of_month && of_week) return day;
    ++day;
  }
  return end;
}

std::optional<int64_t> CronExpression::Nth(int64_t after, uint64_t n) const {
  const int64_t minute = FloorDivide(after, kMinuteSeconds);
  const int64_t today = FloorDivide(minute, kDayMinutes);
  // On the first day only the times after `minute` count.
  auto from = std::upper_bound(minutes_.begin(), minutes_.end(),
                               minute - today * kDayMinutes);
  int64_t since = today;  // the last match, or the first day
  for (int64_t day = today;; ++day) {
    const int64_t end = since + kDaysOf400Years + 1;
    day = NextDay(day, end);
    if (day == end) return std::nullopt;
    if (day != today) from = minutes_.begin();
    const auto left = static_cast<uint64_t>(minutes_.end() - from);
    if (n <= left) {
      return (day * kDayMinutes + from[static_cast<int64_t>(n) - 1]) *
             kMinuteSeconds;
    }
    n -= left;
    since = day;
  }
}

uint64_t CronExpression::Count(int64_t after, int64_t until) const {
  if (until <= after) return 0;
  const int64_t first = FloorDivide(after, kMinuteSeconds);
  const int64_t last = FloorDivide(until, kMinuteSeconds);
  const int64_t end = FloorDivide(last, kDayMinutes) + 1;
  uint64_t count = 0;
  for (int64_t day = FloorDivide(first, kDayMinutes);; ++day) {
    day = NextDay(day, end);
    if (day == end) return count;
    const auto up_to = [&](int64_t minute) {
      return std::upper_bound(minutes_.begin(), minutes_.end(),
                              minute - day * kDayMinutes);
    };
    count += static_cast<uint64_t>(up_to(last) - up_to(first));
  }
}

}  // namespace actord::handlers
