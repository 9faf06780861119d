#include "daemon/log/time_text.h"

#include <cstddef>

namespace actord::daemon {
namespace {

void WriteDigits(TimeText& text, size_t begin, size_t digits, unsigned number) {
  for (size_t i = begin + digits; i-- > begin; number /= 10) {
    text[i] = static_cast<char>('0' + number % 10);
  }
}

}  // namespace

TimeText ToTimeText(std::chrono::milliseconds time) {
  TimeText text = {'Y', 'Y', 'Y', 'Y', '-', 'M', 'M', '-', 'D', 'D', 'T', 'h',
                   'h', ':', 'm', 'm', ':', 's', 's', '.', 'u', 'u', 'u', 'Z'};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{std::chrono::sys_days(day)};
  const std::chrono::hh_mm_ss clock(time - day);
  const auto number = [](auto count) { return static_cast<unsigned>(count); };
  WriteDigits(text, 0, 4, number(static_cast<int>(date.year())));
  WriteDigits(text, 5, 2, number(date.month()));
  WriteDigits(text, 8, 2, number(date.day()));
  WriteDigits(text, 11, 2, number(clock.hours().count()));
  WriteDigits(text, 14, 2, number(clock.minutes().count()));
  WriteDigits(text, 17, 2, number(clock.seconds().count()));
  WriteDigits(text, 20, 3, number(clock.subseconds().count()));
  return text;
}

}  // namespace actord::daemon
