// Decides which due times a schedule runs, which ones it leaves out, and when
// it checks again.
//
// Each due time is run at most once: the cursor is the last due time that was
// run or left out, and it only moves forward. Invariant: no due time is run
// before its clock has reached it.
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
  // Maximum number of missed times that CatchUp::kAll runs; older ones are left
  // out.
  static constexpr uint64_t kMaxCaughtUp = 1'000;
  // A cron schedule reads the wall clock at least once in this time, so that it
  // notices a change of the clock.
  static constexpr Duration kMaxSleep = std::chrono::minutes(1);
  // If the wall clock was set back by up to this time, no due time runs again.
  // If it was set back by more, the schedule assumes that the clock was wrong
  // before, and continues from the new time.
  static constexpr Duration kMaxSetBack = std::chrono::hours(3);

  // The state that survives the daemon, besides the spec.
  struct State {
    // The beginning of the interval. Unused by cron.
    int64_t anchor_ns = 0;
    // The last due time that was run or left out; at first the start.
    int64_t cursor_ns = 0;
    bool paused = false;
    // Due times that were left out: missed and not caught up with.
    uint64_t missed = 0;
  };

  // For a new schedule, and for a schedule that continues.
  SchedulePlan(const ScheduleSpec& spec, const Moment& now);
  SchedulePlan(const ScheduleSpec& spec, const State& state);

  [[nodiscard]] const State& state() const { return state_; }

  // The due times, on the wall clock, to be run now, oldest first; at most
  // `room`. If there is no room for all, the caller must call it again.
  std::vector<int64_t> Take(const Moment& now, size_t room);
  // True once after Take has found that the wall clock was set back.
  bool TakeSetBack();

  // A paused schedule runs nothing, and times that pass during the pause are
  // not missed.
  void Pause() { state_.paused = true; }
  void Resume(const Moment& now);

  // The next due time, on the wall clock. nullopt: paused, or none before 2262.
  [[nodiscard]] std::optional<int64_t> Next(const Moment& now) const;
  // How long to sleep before the next call of Take; nullopt: for ever.
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
