// Timers of yields: who fires them, and how late. Workers run by hand, except
// for the last test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "runtime/scheduler/scheduler_policy.h"
#include "tests/runtime/runtime_fixture.h"
#include "tests/runtime/scheduler/timer_wheel_fixture.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using Did = Worker::Did;

class TimersTest : public ::testing::Test {
 protected:
  void Start(int workers) {
    core_ = std::make_unique<SteppedCore>(workers);
    core_->Settle();
  }
  // A process that sleeps once, and then calls `then`. Its timer is in the
  // wheel of worker 0.
  Pid Sleeper(uint64_t delay_ns, std::function<void()> then) {
    const Pid pid = core_->Submit(
        [delay_ns, then = std::move(then)](Events events, StepOutput& out) {
          for (const Event event : events) {
            if (event.is_message()) {
              out.Yield("sleep", std::to_string(delay_ns));
            } else {
              EXPECT_FALSE(event.error());
              then();
            }
          }
        });
    core_->Wake(0);
    core_->Send(pid, 0);
    EXPECT_EQ(core_->RunOne(0), Did::kRan);
    return pid;
  }

  // Lets the worker sleep as long as it says it may, again and again.
  void SleepUntil(int worker, const bool& woke) {
    for (int sleeps = 0; !woke; ++sleeps) {
      ASSERT_LT(sleeps, 4);
      const uint64_t sleep_ns = core_->worker(worker).sleep_ns();
      ASSERT_NE(sleep_ns, Parker::kForever);
      core_->clock.manual.AdvanceNs(sleep_ns);
      core_->Wake(worker);
      core_->RunUntilSleep(worker);
    }
  }

  std::unique_ptr<SteppedCore> core_;
};

TEST_F(TimersTest, ASleepIsNeverEarlyAndAtMostATickLate) {
  Start(1);
  bool woke = false;
  const uint64_t begin = core_->clock.MonotonicNs();
  Sleeper(kMs, [&] { woke = true; });
  core_->RunUntilSleep(0);
  SleepUntil(0, woke);
  const uint64_t slept = core_->clock.MonotonicNs() - begin;
  EXPECT_GE(slept, kMs);
  EXPECT_LT(slept, kMs + kTickNs);
}

TEST_F(TimersTest, AnotherWorkerFiresTheTimersOfAStuckOne) {
  Start(2);
  bool woke = false;
  Sleeper(kMs, [&] { woke = true; });
  // Worker 0 is stuck from now on: it is not run any more.
  core_->clock.manual.AdvanceNs(kMs + kTickNs);
  core_->Wake(1);
  for (int i = 0; i < 20 && !woke; ++i) core_->RunOne(1);
  EXPECT_TRUE(woke);
}

TEST_F(TimersTest, ABusyWorkerFiresTheTimersOfAStuckOne) {
  Start(2);
  bool woke = false;
  const Pid busy = core_->Submit([](Events events, StepOutput& out) {
    if (!events.empty()) out.Send(out.self(), "again");
  });
  Sleeper(kMs, [&] { woke = true; });
  core_->Wake(1);
  core_->Send(busy, 1);
  core_->clock.manual.AdvanceNs(kMs + kTickNs);
  for (int i = 0; i < 61 * 20 && !woke; ++i) {
    ASSERT_EQ(core_->RunOne(1), Did::kRan);
  }
  EXPECT_TRUE(woke);
}

TEST_F(TimersTest, ABusyWorkerFiresItsOwnTimers) {
  Start(1);
  bool woke = false;
  const Pid busy = core_->Submit([](Events events, StepOutput& out) {
    if (!events.empty()) out.Send(out.self(), "again");
  });
  Sleeper(kMs, [&] { woke = true; });
  core_->Send(busy, 0);
  core_->clock.manual.AdvanceNs(kMs + kTickNs);
  for (int i = 0; i < 32 && !woke; ++i) ASSERT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_TRUE(woke);
}

TEST_F(TimersTest, OneSleeperKeepsTheTimeForAll) {
  Start(3);
  Sleeper(10 * kMs, [] {});
  for (int i = 0; i < 3; ++i) core_->Wake(i);
  for (int i = 0; i < 3; ++i) core_->RunUntilSleep(i);
  int timed = 0;
  for (int i = 0; i < 3; ++i) {
    const uint64_t sleep_ns = core_->worker(i).sleep_ns();
    if (sleep_ns == Parker::kForever) continue;
    ++timed;
    EXPECT_LE(sleep_ns, 10 * kMs + kTickNs);
  }
  EXPECT_EQ(timed, 1);
}

// Several processes that wait, so that all workers sleep; then another thread
// completes one of their yields later.
TEST_F(TimersTest, AnEarlierTimerFromOutsideWakesASleeper) {
  core_ = std::make_unique<SteppedCore>(2);
  actord_completion held = 0;
  core_->AddCommand("held", ACTORD_HANDLER_INLINE,
                    [&](actord::testing::Call& call) {
                      held = call.Defer();
                      return ACTORD_DEFERRED;
                    });
  core_->Settle();
  Sleeper(100 * kMs, [] {});
  bool woke = false;
  core_->Submit([&](Events events, StepOutput& out) {
    if (events.empty()) {
      out.Yield("held");
    } else {
      woke = true;
    }
  });
  const actord_host* host = core_->core->host.abi();
  ASSERT_EQ(host->complete_after(host, held, 5 * kMs), ACTORD_OK);
  int keeper = -1;
  for (int i = 0; i < 2; ++i) {
    if (core_->WakeIfNotified(i)) keeper = i;
  }
  ASSERT_NE(keeper, -1);
  core_->RunUntilSleep(keeper);
  EXPECT_LE(core_->worker(keeper).sleep_ns(), 5 * kMs + kTickNs);
  SleepUntil(keeper, woke);
}

// It will look at its timers itself, before it sleeps.
TEST_F(TimersTest, AWorkerThatIsAwakeWakesNobodyForItsTimer) {
  Start(2);
  Sleeper(100 * kMs, [] {});
  core_->Settle();
  Sleeper(5 * kMs, [] {});
  EXPECT_FALSE(core_->WakeIfNotified(1));
  core_->RunUntilSleep(0);
  EXPECT_LE(core_->worker(0).sleep_ns(), 5 * kMs + kTickNs);
}

// The worker that keeps the time wakes for the first timer and gets stuck in
// the step of its process: somebody else has to fire the second.
TEST_F(TimersTest, TheWatchdogSeesATimerThatNobodyFires) {
  Start(2);
  Watchdog& watchdog = core_->core->threads.watchdog();
  bool second = false;
  bool early = false;
  bool late = false;
  int keeper = -1;
  Sleeper(10 * kMs, [&] {
    // Within the step: from here on the worker is stuck.
    core_->clock.manual.AdvanceNs(10 * kMs);
    EXPECT_LE(watchdog.CheckAll(), SchedulerPolicy::kTimerPatienceNs);
    early = core_->WakeIfNotified(1 - keeper);
    core_->clock.manual.AdvanceNs(SchedulerPolicy::kTimerPatienceNs + kTickNs);
    watchdog.CheckAll();
    late = core_->WakeIfNotified(1 - keeper);
    for (int i = 0; i < 20 && !second; ++i) core_->RunOne(1 - keeper);
  });
  Sleeper(20 * kMs, [&] { second = true; });
  core_->Settle();
  for (int i = 0; i < 2; ++i) {
    if (core_->worker(i).sleep_ns() != Parker::kForever) keeper = i;
  }
  ASSERT_NE(keeper, -1);
  core_->clock.manual.AdvanceNs(10 * kMs + kTickNs);
  core_->Wake(keeper);
  EXPECT_EQ(core_->RunOne(keeper), Did::kRan);
  EXPECT_FALSE(early);
  EXPECT_TRUE(late);
  EXPECT_TRUE(second);
}

// Nobody sleeps who could be woken for it.
TEST_F(TimersTest, TheWatchdogFiresATimerThatNobodyWillComeTo) {
  Start(1);
  Watchdog& watchdog = core_->core->threads.watchdog();
  const auto is_ready = [this] {
    return core_->core->scheduler.GlobalLevels() != 0;
  };
  bool early = false;
  bool late = false;
  bool second = false;
  Sleeper(10 * kMs, [&] {
    core_->clock.manual.AdvanceNs(10 * kMs + SchedulerPolicy::kTimerPatienceNs);
    watchdog.CheckAll();
    early = is_ready();
    core_->clock.manual.AdvanceNs(SchedulerPolicy::kTimerPatienceNs + kTickNs);
    watchdog.CheckAll();
    late = is_ready();
  });
  Sleeper(20 * kMs, [&] { second = true; });
  core_->Settle();
  core_->clock.manual.AdvanceNs(10 * kMs + kTickNs);
  core_->Wake(0);
  EXPECT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_FALSE(early);
  EXPECT_TRUE(late);
  EXPECT_FALSE(second);
  core_->RunOne(0);
  EXPECT_TRUE(second);
}

// 200 sleeps of a tick each, again and again: to wake for every tick would cost
// more than the timers.
TEST_F(TimersTest, TheMoreTimersFireTheLongerTheTimekeeperSleeps) {
  Start(1);
  int woke = 0;
  bool stop = false;
  const auto again = [&stop](Events, StepOutput& out) {
    if (!stop) out.Yield("sleep", std::to_string(kTickNs));
  };
  for (int i = 0; i < 200; ++i) {
    core_->Submit([&](Events events, StepOutput& out) {
      woke += static_cast<int>(events.size());
      again(events, out);
    });
  }
  // Each of them sleeps for a tick, and the worker for 500 µs.
  core_->clock.manual.AdvanceNs(2 * kTickNs);
  core_->Wake(0);
  woke = 0;
  core_->RunUntilSleep(0);
  EXPECT_EQ(woke, 200);
  EXPECT_EQ(core_->worker(0).sleep_ns(), 500'000u);
  // When nothing fires any more, it sleeps as long as it was asked to.
  stop = true;
  for (int sleeps = 0; sleeps < 20; ++sleeps) {
    core_->clock.manual.AdvanceNs(kMs);
    core_->Wake(0);
    core_->RunUntilSleep(0);
    if (core_->worker(0).sleep_ns() == Parker::kForever) {
      Sleeper(kTickNs, [] {});
      core_->RunUntilSleep(0);
    }
  }
  Sleeper(kTickNs, [] {});
  core_->RunUntilSleep(0);
  EXPECT_LE(core_->worker(0).sleep_ns(), 2 * kTickNs);
}

TEST_F(TimersTest, WithoutTimersAWorkerSleepsWithoutATimeout) {
  Start(2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(core_->worker(i).sleep_ns(), Parker::kForever);
  }
}

// Real threads and the real clock. On an idle machine every sleep is that
// short; on a busy one a window of nine has to be found.
TEST_F(RuntimeTest, ASleepOfAMillisecondEndsWithinOnePointTwo) {
  actord::testing::ScriptHandler sleep(
      "sleep", ACTORD_HANDLER_INLINE, [this](actord::testing::Call& call) {
        const actord_host* host = runtime_->host();
        host->complete_after(host, call.Defer(), kMs);
        return ACTORD_DEFERRED;
      });
  ASSERT_TRUE(catalog_.AddCommand(sleep.descriptor(), &sleep, "test").ok());
  Start();
  using SteadyClock = std::chrono::steady_clock;
  constexpr size_t kWindow = 9;
  std::vector<SteadyClock::duration> slept;
  SteadyClock::duration best = SteadyClock::duration::max();
  const auto give_up = SteadyClock::now() + kPatience / 2;
  SteadyClock::time_point began;
  const Script script{.step = [&](Events events, StepOutput& out) {
    const auto now = SteadyClock::now();
    if (!events.empty()) {
      slept.push_back(now - began);
      EXPECT_GE(slept.back(), std::chrono::milliseconds(1));
    }
    if (slept.size() == kWindow) {
      std::nth_element(slept.begin(), slept.begin() + kWindow / 2, slept.end());
      best = std::min(best, slept[kWindow / 2]);
      slept.clear();
      if (best <= std::chrono::microseconds(1200) || now > give_up) {
        out.Done();
        return;
      }
    }
    began = SteadyClock::now();
    out.Yield("sleep");
  }};
  MustAwait(MustSubmit(script));
  EXPECT_LE(best, std::chrono::microseconds(1200))
      << std::chrono::duration_cast<std::chrono::microseconds>(best).count()
      << " us";
}

}  // namespace
}  // namespace actord::runtime
