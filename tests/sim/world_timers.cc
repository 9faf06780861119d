// The model of timers: a part of (6) of world.h.
#include <algorithm>
#include <utility>

#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/workers/watchdog.h"
#include "tests/sim/world.h"

namespace actord::sim {

using runtime::SchedulerPolicy;
using runtime::TimerWheel;

uint64_t World::FirstTimerNs() const {
  // EarliestTimerNs may be long past, but it is never later than the first
  // timer.
  uint64_t first = TimerWheel::kNever;
  for (size_t i = 0; i < core->scheduler.size(); ++i) {
    first = std::min(first, core->scheduler.queue(i).timers.FirstDueNs());
  }
  return first;
}

void World::CheckTimers(uint64_t next_ns) {
  const uint64_t due = FirstTimerNs();
  if (std::exchange(first_timer_ns_, due) != due) late_ns_ = 0;
  if (due == TimerWheel::kNever || next_ns <= due) return;
  // Only time in which no thread could run counts: a stalled thread would
  // itself be late.
  late_ns_ += next_ns - std::max(schedule.now_ns(), due);
  // The watchdog may have seen no timer at its last check. At its next check it
  // fires the timers of one worker, and it checks again soon.
  const uint64_t most_ns =
      SchedulerPolicy::kLongestCheckNs +
      core->scheduler.size() * SchedulerPolicy::kShortestCheckNs;
  Check(late_ns_ <= most_ns, nullptr, "a timer is overdue, and nobody looks");
}

bool World::IsHeldBack(size_t worker, uint64_t next_ns) {
  // The same rule as Scheduler::MayWake.
  const runtime::WorkerQueue& queue = core->scheduler.queue(worker);
  uint32_t& since = alone_too_long_since_[worker];
  const uint32_t turns = queue.turns_since_due;
  if (!queue.is_quiet || turns == 0 ||
      next_ns - queue.firing_since_ns < SchedulerPolicy::kAloneNs) {
    since = 0;
  } else if (since == 0 || turns < since) {
    since = turns;
  }
  return queue.is_quiet && turns != 0 &&
         (since == 0 || turns <= since + SchedulerPolicy::kTurnsPerClock);
}

void World::CheckTimekeeper() {
  if (first_timer_ns_ == TimerWheel::kNever) return;
  // Where timers are dense, a worker sleeps past the next timer.
  for (size_t i = 0; i < core->scheduler.size(); ++i) {
    uint64_t until_ns = 0;
    if (schedule.IsWaitedFor(&core->scheduler.queue(i).parker, &until_ns) &&
        until_ns <= first_timer_ns_ + SchedulerPolicy::kLongestRestNs) {
      return;
    }
  }
  Broken(nullptr, "there is a timer, and nobody keeps the time");
}

void World::CheckOverdue(const Actor& actor, Outstanding& yield) {
  const std::string_view command = yield.command;
  bool overdue = command == "inline" || command == "fails" ||
                 command == "throws" || command == "unknown" ||
                 command == "pooled" ||
                 (command == "call" && !Lives(*yield.callee));
  const uint64_t now = schedule.now_ns();
  if (yield.rested_ns == 0) yield.rested_ns = now;
  constexpr uint64_t kTickNs = uint64_t{1} << TimerWheel::kTickShift;
  // A timeout fires one tick later than requested.
  uint64_t lasts_ns =
      yield.timeout_ns == 0 ? UINT64_MAX : yield.timeout_ns + kTickNs;
  if (command == "sleep") {
    lasts_ns = std::min(lasts_ns, yield.earliest_ns - yield.yielded_ns);
  }
  if (lasts_ns != UINT64_MAX) {
    // The yield is due, and its timer has had the time to be fired.
    overdue = overdue || std::min(now, first_timer_ns_) >=
                             yield.rested_ns + lasts_ns + kTickNs;
  }
  if (!overdue) return;
  Broken(&actor, "yield " + std::to_string(yield.number) + " of " +
                     std::string(command) + " is not completed");
}

}  // namespace actord::sim
