// A cron expression, and the times that it names, in UTC.
//
// Five fields as cron(5) describes them: minute, hour, day of month, month, day
// of week. A field is *, a value, a range (1-5), or a list of these
// (1,3,10-12);
// * and a range may have a step (*/15, 10-40/10). Months and days of the week
// have names, too: the first three letters, in any case. 0 and 7 are Sunday. If
// both fields of days are restricted, a day matches if one of them does. A
// field that begins with * is not restricted. Also @hourly, @daily, @midnight,
// @weekly, @monthly, @yearly and @annually.
//
// All times are seconds since the Unix epoch. The calendar is the proleptic
// Gregorian one, without leap seconds.
//
// Thread-safety: an immutable value.
#pragma once

#include <actord/result.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace actord::handlers {

class CronExpression {
 public:
  static constexpr size_t kMaxBytes = 256;

  // INVALID_ARGUMENT names the wrong field, and the right values. An expression
  // that never matches, such as 30 February, is refused.
  static Result<CronExpression> Parse(std::string_view text);

  // The first time after `after`. nullopt: none within 400 years.
  [[nodiscard]] std::optional<int64_t> Next(int64_t after) const {
    return Nth(after, 1);
  }
  // The `n`th time after `after`; n is 1 or more.
  [[nodiscard]] std::optional<int64_t> Nth(int64_t after, uint64_t n) const;
  // The number of times after `after` and not after `until`.
  [[nodiscard]] uint64_t Count(int64_t after, int64_t until) const;

 private:
  CronExpression() = default;

  // The first day from `day` on that matches and is below `end`; `end`: none. A
  // day is a number of days since the epoch.
  [[nodiscard]] int64_t NextDay(int64_t day, int64_t end) const;

  // Minutes of a day, in order.
  std::vector<int> minutes_;
  // Bit n: the value n.
  uint64_t days_ = 0;
  uint64_t months_ = 0;
  uint64_t weekdays_ = 0;
  // True: a day matches if either of the two day fields does. False: both must
  // match.
  bool either_ = false;
};

}  // namespace actord::handlers
