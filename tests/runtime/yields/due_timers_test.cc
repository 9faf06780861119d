// Timers that are due together: how many workers they wake. Workers run by
// hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/scheduler/scheduler_policy.h"
#include "tests/runtime/scheduler/timer_wheel_fixture.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

constexpr uint64_t kAloneNs = SchedulerPolicy::kAloneNs;
constexpr uint64_t kUs = 1'000;
constexpr uint64_t kSleepNs = 10'000 * kUs;

// Two workers that sleep, and processes that sleep for 10 ms in the wheel of
// the first.
class DueTimers : public ::testing::Test {
 protected:
  // So many, whose next step calls `then`.
  void FallAsleep(int count, const std::function<void()>& then) {
    core_->Settle();
    for (int i = 0; i < count; ++i) {
      const Pid pid =
          core_->Submit([this, then](Events events, StepOutput& out) {
            for (const Event event : events) {
              if (event.is_message()) {
                out.Yield("sleep", std::to_string(kSleepNs));
              } else {
                ++woke_;
                then();
              }
            }
          });
      core_->Wake(0);
      core_->Send(pid, 0);
      core_->RunUntilSleep(0);
    }
  }
  // The same; they are due, and the first worker is awake.
  void Sleepers(int count, const std::function<void()>& then) {
    FallAsleep(count, then);
    core_->clock.manual.AdvanceNs(kSleepNs + kTickNs);
    core_->Wake(0);
  }
  // The same, with steps that take so long.
  void Sleepers(int count, uint64_t step_ns) {
    Sleepers(count, [=, this] { core_->clock.manual.AdvanceNs(step_ns); });
  }
  // Runs the first worker until the second one is told; the processes that it
  // has run by then, the last of them when it had told.
  int RunUntilOtherIsTold() {
    while (!core_->IsAsleep(0)) {
      core_->RunOne(0);
      if (core_->WakeIfNotified(1)) return woke_;
    }
    ADD_FAILURE() << "it was told nothing";
    return woke_;
  }

  std::unique_ptr<SteppedCore> core_ = std::make_unique<SteppedCore>(2);
  int woke_ = 0;
};

// Before another worker is awake, they are done.
TEST_F(DueTimers, ShortStepsWakeNoOtherWorker) {
  Sleepers(100, 600);
  core_->RunUntilSleep(0);
  EXPECT_EQ(woke_, 100);
  EXPECT_FALSE(core_->WakeIfNotified(1));
}

TEST_F(DueTimers, AnotherWorkerIsWokenBehindALongStep) {
  Sleepers(3, kAloneNs);
  EXPECT_EQ(RunUntilOtherIsTold(), 2);
}

// After 14 of these steps it has been alone for long enough; it looks at the
// clock before the 18th.
TEST_F(DueTimers, AnotherWorkerIsWokenWhenSeveralStepsTakeLong) {
  Sleepers(20, kAloneNs / 13 - 10);
  EXPECT_EQ(RunUntilOtherIsTold(), 18);
}

TEST_F(DueTimers, AnotherWorkerIsWokenForManyShortSteps) {
  constexpr uint64_t kStepNs = 400;
  constexpr int kSteps = kAloneNs / kStepNs;
  Sleepers(kSteps + 80, kStepNs);
  const int alone = RunUntilOtherIsTold();
  EXPECT_GE(alone, kSteps);
  EXPECT_LE(alone, kSteps + 6);
}

// A worker fires no more timers than it runs processes until its next check.
TEST_F(DueTimers, DueTimersDoNotPileUp) {
  constexpr int kCount = 1000;
  Sleepers(kCount, 0);
  size_t most = 0;
  while (!core_->IsAsleep(0)) {
    core_->RunOne(0);
    most = std::max(most, core_->queue(0).ready.SizeOf());
  }
  EXPECT_EQ(woke_, kCount);
  EXPECT_GE(most, 63u);
  EXPECT_LT(most, 100u);
  EXPECT_FALSE(core_->WakeIfNotified(1));
}

// The next timer wakes the worker.
TEST_F(DueTimers, WorkerThatRanOnlyTimersSleepsAtOnce) {
  Sleepers(3, 0);
  while (woke_ < 3) core_->RunOne(0);
  EXPECT_EQ(core_->RunOne(0), Worker::Did::kSleep);
}

TEST_F(DueTimers, WorkerWithOtherWorkSinceSearchesOn) {
  const Pid other = core_->Submit([](Events, StepOutput&) {});
  Sleepers(1, 0);
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(core_->RunOne(0), Worker::Did::kRan);
    if (turn < 3) core_->Send(other, 0);
  }
  EXPECT_EQ(woke_, 1);
  EXPECT_EQ(core_->RunOne(0), Worker::Did::kSearch);
}

// Their yields were completed before.
TEST_F(DueTimers, TimersThatNobodyWaitsForAreNoWork) {
  std::vector<actord_completion> held;
  core_->AddCommand("held", ACTORD_HANDLER_INLINE,
                    [&held](actord::testing::Call& call) {
                      held.push_back(call.Defer());
                      return ACTORD_DEFERRED;
                    });
  const Pid other = core_->Submit([](Events, StepOutput&) {});
  core_->Settle();
  core_->Wake(0);
  core_->Submit([](Events events, StepOutput& out) {
    for (int i = 0; events.empty() && i < 8; ++i) {
      out.Yield("held", {}, {.timeout = Duration(kSleepNs)});
    }
  });
  const actord_host* const host = core_->core->host.abi();
  for (const actord_completion completion : held) {
    ASSERT_EQ(host->complete(host, completion, ACTORD_OK, nullptr), ACTORD_OK);
  }
  core_->Settle();
  core_->WakeAll();
  core_->Settle();
  core_->clock.manual.AdvanceNs(kSleepNs + 2 * kTickNs);
  core_->Wake(0);
  core_->Send(other, 0);
  EXPECT_EQ(core_->RunOne(0), Worker::Did::kRan);
  EXPECT_EQ(core_->RunOne(0), Worker::Did::kSearch);
}

// That would be more than have turns until the next look.
TEST_F(DueTimers, BesideOtherWorkOnlyLateTimersAreAllFired) {
  for (const bool late : {false, true}) {
    core_ = std::make_unique<SteppedCore>(2);
    const Pid continues = core_->Submit([](Events events, StepOutput& out) {
      if (!events.empty()) out.Continue();
    });
    FallAsleep(100, [] {});
    core_->clock.manual.AdvanceNs(kSleepNs - kTickNs);
    core_->Wake(0);
    core_->RunUntilSleep(0);  // it has looked
    core_->clock.manual.AdvanceNs(2 * kTickNs + (late ? 2'000 * kUs : 0));
    core_->Wake(0);
    size_t most = 0;
    for (int turn = 0; turn < 32; ++turn) {
      core_->Send(continues, 0);
      core_->RunOne(0);
      most = std::max(most, core_->queue(0).ready.SizeOf());
    }
    if (late) {
      EXPECT_GE(most, 60u);
    } else {
      EXPECT_GE(most, 11u);
      EXPECT_LE(most, 13u);
    }
  }
}

// It runs dry in between, so that each begins alone.
TEST_F(DueTimers, FewNowAndThenWakeNoOtherWorker) {
  for (int i = 0; i < 10; ++i) {
    Sleepers(2, kAloneNs / 4);
    core_->RunUntilSleep(0);
    EXPECT_FALSE(core_->WakeIfNotified(1));
  }
  EXPECT_EQ(woke_, 20);
}

// Later messages wake workers in a chain, as ever.
TEST_F(DueTimers, WakeUpsGoOnAfterAThiefTookDueProcesses) {
  int told = 0;
  std::array<Pid, 2> others;
  for (Pid& other : others) {
    other = core_->Submit([&told](Events events, StepOutput&) {
      told += static_cast<int>(events.size());
    });
  }
  Sleepers(4, 0);
  core_->Wake(1);
  while (woke_ < 2) core_->RunOne(0);
  while (woke_ < 4) core_->RunOne(1);
  core_->RunUntilSleep(1);
  core_->RunUntilSleep(0);
  // The first of two messages wakes a worker, which takes both.
  for (const Pid& other : others) core_->Send(other, -1);
  const int first = core_->WakeIfNotified(0) ? 0 : 1;
  core_->Wake(first);
  while (told == 0) core_->RunOne(first);
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(core_->WakeIfNotified(1 - first));
}

TEST_F(DueTimers, WithoutASpareThreadTheWatchdogWakesAnotherWorker) {
  RuntimeOptions options;
  options.max_blocked_threads = 0;
  core_ = std::make_unique<SteppedCore>(2, options);
  Watchdog& watchdog = core_->core->threads.watchdog();
  int told_after_ms = 0;
  Sleepers(3, [&] {
    for (int ms = 1; woke_ == 1 && told_after_ms == 0 && ms < 1000; ++ms) {
      core_->clock.manual.AdvanceNs(1'000 * kUs);
      watchdog.CheckAll();
      if (core_->WakeIfNotified(1)) told_after_ms = ms;
    }
  });
  core_->RunOne(0);
  EXPECT_GE(told_after_ms, 10);
  EXPECT_LE(told_after_ms, 20);
}

// Nobody is kept from a timer by a call that nobody is in.
TEST_F(DueTimers, TheWatchdogMindsTimersWhileAWorkerIsInACall) {
  Watchdog& watchdog = core_->core->threads.watchdog();
  const auto settled = [&watchdog] {
    uint64_t pause = 0;
    for (int i = 0; i < 20; ++i) pause = watchdog.CheckAll();
    return pause;
  };
  uint64_t in_call = 0;
  const Pid sleeps_again = core_->Submit([&](Events events, StepOutput& out) {
    if (events.empty()) return;
    out.Yield("sleep", std::to_string(kSleepNs));
    in_call = settled();
  });
  core_->Settle();
  core_->Wake(0);
  EXPECT_EQ(settled(), SchedulerPolicy::kLongestCheckNs) << "there is no timer";
  core_->Send(sleeps_again, 0);
  core_->RunOne(0);
  EXPECT_EQ(in_call, SchedulerPolicy::kLongestCheckNs)
      << "the step has not ended";
  EXPECT_EQ(settled(), SchedulerPolicy::kLongestCheckNs)
      << "nobody is in a call";
  core_->Send(sleeps_again, 0);
  core_->RunOne(0);
  EXPECT_EQ(in_call, SchedulerPolicy::kTimerPatienceNs);
}

}  // namespace
}  // namespace actord::runtime
