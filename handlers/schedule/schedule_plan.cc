#include "handlers/schedule/schedule_plan.h"

#include <algorithm>
#include <utility>

namespace actord::handlers {
namespace {

DueTimes TimesOf(const ScheduleSpec& spec, int64_t anchor_ns) {
  return spec.cron ? DueTimes(*spec.cron)
                   : DueTimes(anchor_ns, spec.every.count());
}

SchedulePlan::State BeginOf(const ScheduleSpec& spec, const Moment& now) {
  const int64_t begin = spec.cron ? now.wall_ns : now.monotonic_ns;
  return {.anchor_ns = begin,
          .cursor_ns = begin,
          .paused = spec.paused,
          .missed = 0};
}

}  // namespace

SchedulePlan::SchedulePlan(const ScheduleSpec& spec, const Moment& now)
    : SchedulePlan(spec, BeginOf(spec, now)) {}

SchedulePlan::SchedulePlan(const ScheduleSpec& spec, const State& state)
    : catch_up_(spec.catch_up),
      grace_ns_(spec.grace.count()),
      times_(TimesOf(spec, state.anchor_ns)),
      state_(state) {}

std::vector<int64_t> SchedulePlan::Take(const Moment& now, size_t room) {
  std::vector<int64_t> taken;
  if (state_.paused || room == 0) return taken;
  const int64_t clock_ns = times_.ClockOf(now);
  if (times_.has_wall_clock() &&
      state_.cursor_ns - clock_ns > kMaxSetBack.count()) {
    state_.cursor_ns = clock_ns;
    was_set_back_ = true;
  }
  const uint64_t due = times_.Count(state_.cursor_ns, clock_ns);
  if (due == 0) return taken;
  uint64_t wanted = 1;
  if (catch_up_ == CatchUp::kAll) {
    wanted = std::min(due, kMaxCaughtUp);
  } else if (catch_up_ == CatchUp::kSkip) {
    // Count has found it.
    const int64_t last = *times_.Nth(state_.cursor_ns, due);
    if (clock_ns - last > grace_ns_) {
      Move(last, due);
      return taken;
    }
  }
  uint64_t left_out = due - wanted;
  while (wanted > 0 && taken.size() < room) {
    const int64_t at = *times_.Nth(state_.cursor_ns, left_out + 1);
    Move(at, std::exchange(left_out, 0));
    taken.push_back(now.wall_ns - (clock_ns - at));
    --wanted;
  }
  return taken;
}

void SchedulePlan::Move(int64_t to, uint64_t left_out) {
  state_.cursor_ns = to;
  state_.missed += left_out;
}

bool SchedulePlan::TakeSetBack() { return std::exchange(was_set_back_, false); }

void SchedulePlan::Resume(const Moment& now) {
  if (!std::exchange(state_.paused, false)) return;
  state_.cursor_ns = std::max(state_.cursor_ns, times_.ClockOf(now));
}

std::optional<int64_t> SchedulePlan::Next(const Moment& now) const {
  if (state_.paused) return std::nullopt;
  const std::optional<int64_t> at = times_.Nth(state_.cursor_ns, 1);
  if (!at) return std::nullopt;
  return now.wall_ns + (*at - times_.ClockOf(now));
}

std::optional<Duration> SchedulePlan::NextLook(const Moment& now) const {
  if (state_.paused) return std::nullopt;
  const std::optional<int64_t> at = times_.Nth(state_.cursor_ns, 1);
  if (!at) return std::nullopt;
  const Duration left(std::max<int64_t>(*at - times_.ClockOf(now), 0));
  return times_.has_wall_clock() ? std::min(left, kMaxSleep) : left;
}

}  // namespace actord::handlers
