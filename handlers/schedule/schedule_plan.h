// Which due times a schedule runs, which it leaves out, and when it looks
// again.
//
// Each due time is run at most once: the cursor is the last one that was run or
// left out, and it moves forward alone. Invariant: no due time is run before
// its time has come on its clock.
//
// Thread-safety: none. Pure: the clocks are arguments.
#pragma once

#include <actord/values.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "handlers/schedule/due_times.h"
#include "handlers/schedule/schedule_spec.h"

namespace actord::handlers {

class SchedulePlan {
 public:
  // The most missed times that CatchUp::kAll runs; older ones are left out.
  static constexpr uint64_t kMaxCaughtUp = 1'000;
  // A schedule by cron looks at the wall clock at least once in this time, so
  // that it notices when somebody has set the clock.
  static constexpr Duration kMaxSleep = std::chrono::minutes(1);
  // If the wall clock was set back by up to this time, no due time runs again.
  // If it was set back by more, the clock was wrong before, and the schedule
  // goes on from the new time.
  static constexpr Duration kMaxSetBack = std::chrono::hours(3);

  // What survives the daemon, besides the spec.
  struct State {
    // The begin of the interval. Unused by cron.
    int64_t anchor_ns = 0;
    // The last due time that was run or left out; at first the start.
    int64_t cursor_ns = 0;
    bool paused = false;
    // Due times that were left out: missed and not caught up with.
    uint64_t missed = 0;
  };

  // Of a new schedule, and of one that goes on.
  SchedulePlan(const ScheduleSpec& spec, const Moment& now);
  SchedulePlan(const ScheduleSpec& spec, const State& state);

  [[nodiscard]] const State& state() const { return state_; }

  // The due times, on the wall clock, to be run now, oldest first; at most
  // `room`. If there is no room for all, it is to be asked again.
  std::vector<int64_t> Take(const Moment& now, size_t room);
  // True once after Take has found that the wall clock was set back.
  bool TakeSetBack();

  // A schedule that is paused runs nothing, and times that pass meanwhile are
  // not missed.
  void Pause() { state_.paused = true; }
  void Resume(const Moment& now);

  // The next due time, on the wall clock. nullopt: paused, or none before 2262.
  [[nodiscard]] std::optional<int64_t> Next(const Moment& now) const;
  // How long to sleep before Take is asked again; nullopt: for ever.
  [[nodiscard]] std::optional<Duration> NextLook(const Moment& now) const;

 private:
  // Moves the cursor over `left_out` due times that are not run.
  void Move(int64_t to, uint64_t left_out);

  CatchUp catch_up_;
  int64_t grace_ns_;
  DueTimes times_;
  State state_;
  bool was_set_back_ = false;
};

}  // namespace actord::handlers
