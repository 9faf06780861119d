#include "handlers/schedule/due_times.h"

namespace actord::handlers {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

constexpr int64_t FloorSeconds(int64_t ns) {
  return ns / kNsPerSecond - (ns % kNsPerSecond < 0 ? 1 : 0);
}

}  // namespace

std::optional<int64_t> DueTimes::Nth(int64_t after_ns, uint64_t n) const {
  if (const auto* const cron = std::get_if<CronExpression>(&times_)) {
    const std::optional<int64_t> at = cron->Nth(FloorSeconds(after_ns), n);
    if (!at || *at > INT64_MAX / kNsPerSecond) return std::nullopt;
    return *at * kNsPerSecond;
  }
  const auto& [anchor_ns, period_ns] = std::get<Interval>(times_);
  const int64_t passed = std::get<Interval>(times_).Until(after_ns);
  const int64_t most = (INT64_MAX - anchor_ns) / period_ns;
  if (passed >= most || n > static_cast<uint64_t>(most - passed)) {
    return std::nullopt;
  }
  return anchor_ns + (passed + static_cast<int64_t>(n)) * period_ns;
}

uint64_t DueTimes::Count(int64_t after_ns, int64_t until_ns) const {
  if (until_ns <= after_ns) return 0;
  if (const auto* const cron = std::get_if<CronExpression>(&times_)) {
    return cron->Count(FloorSeconds(after_ns), FloorSeconds(until_ns));
  }
  const auto& interval = std::get<Interval>(times_);
  return static_cast<uint64_t>(interval.Until(until_ns) -
                               interval.Until(after_ns));
}

}  // namespace actord::handlers
