// The times at which a schedule is due: the times of a cron expression, on the
// wall clock, or of an interval, on the process's monotonic clock.
//
// Thread-safety: an immutable value.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "handlers/schedule/cron_expression.h"

namespace actord::handlers {

// Both clocks at one moment. Unit: nanoseconds.
struct Moment {
  int64_t wall_ns = 0;
  // For a durable process this is the store's clock, which counts a downtime of
  // the daemon by the wall clock.
  int64_t monotonic_ns = 0;
};

class DueTimes {
 public:
  explicit DueTimes(CronExpression cron) : times_(std::move(cron)) {}
  // Due each `period_ns` after `anchor_ns`. `period_ns` is 1 or more.
  DueTimes(int64_t anchor_ns, int64_t period_ns)
      : times_(Interval{anchor_ns, period_ns}) {}

  // Due times and the parameters below are times of the wall clock; false: of
  // the monotonic clock.
  [[nodiscard]] bool has_wall_clock() const {
    return std::holds_alternative<CronExpression>(times_);
  }
  [[nodiscard]] int64_t ClockOf(const Moment& moment) const {
    return has_wall_clock() ? moment.wall_ns : moment.monotonic_ns;
  }

  // The `n`th due time after `after_ns`; n is 1 or more. nullopt: it would be
  // after the year 2262, where the clocks end.
  [[nodiscard]] std::optional<int64_t> Nth(int64_t after_ns, uint64_t n) const;
  // The number of due times after `after_ns` and not after `until_ns`.
  [[nodiscard]] uint64_t Count(int64_t after_ns, int64_t until_ns) const;

 private:
  struct Interval {
    int64_t anchor_ns;
    int64_t period_ns;
    // The number of due times up to this time.
    [[nodiscard]] int64_t Until(int64_t ns) const {
      return ns < anchor_ns ? 0 : (ns - anchor_ns) / period_ns;
    }
  };

  std::variant<CronExpression, Interval> times_;
};

}  // namespace actord::handlers
