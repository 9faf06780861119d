// Timers whose yields or processes end before they are due. A worker runs by
// hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/scheduler/scheduler_policy.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using ::testing::Lt;

constexpr uint64_t kHourNs = 3600 * kSecond;

class ForgottenTimers : public ::testing::Test {
 protected:
  void Start(RuntimeOptions options = {}) {
    core_ = std::make_unique<SteppedCore>(1, std::move(options));
    core_->AddCommand("held", ACTORD_HANDLER_INLINE,
                      [&](actord::testing::Call& call) {
                        held_ = call.Defer();
                        return ACTORD_DEFERRED;
                      });
    core_->Settle();
  }
  void CompleteHeld() {
    const actord_host* host = core_->core->host.abi();
    ASSERT_EQ(host->complete(host, std::exchange(held_, 0), ACTORD_OK, nullptr),
              ACTORD_OK);
  }
  size_t Timers() { return core_->queue(0).timers.Size(); }

  std::unique_ptr<SteppedCore> core_;
  actord_completion held_ = 0;
};

constexpr int kManyTimeouts = 15'000;

TEST_F(ForgottenTimers, TimeoutsOfYieldsThatHaveEndedDoNotPileUp) {
  Start();
  int ended = 0;
  core_->Submit([&](Events events, StepOutput& out) {
    ended += static_cast<int>(events.size());
    out.Yield("held", {}, {.timeout = std::chrono::hours(1)});
  });
  while (ended < kManyTimeouts) {
    CompleteHeld();
    core_->WakeIfNotified(0);
    core_->RunUntilSleep(0);
  }
  EXPECT_THAT(Timers(), Lt(2 * SchedulerPolicy::kFewTimers));
}

TEST_F(ForgottenTimers, LifetimesOfProcessesThatHaveEndedDoNotPileUp) {
  RuntimeOptions options;
  options.max_lifetime = absl::Hours(1);
  Start(options);
  for (int i = 0; i < kManyTimeouts; ++i) {
    core_->Submit([](Events, StepOutput& out) { out.Done(); });
  }
  EXPECT_THAT(Timers(), Lt(2 * SchedulerPolicy::kFewTimers));
}

// All waiting processes, no matter which timers were forgotten.
TEST_F(ForgottenTimers, WaitingProcessesAreCompletedAndEndedInTime) {
  RuntimeOptions options;
  options.max_lifetime = absl::Hours(2);
  Start(options);
  constexpr int kSleepers = 1'000;
  int woke = 0;
  int timed_out = 0;
  for (int i = 0; i < kSleepers; ++i) {
    core_->Submit([&](Events events, StepOutput& out) {
      for (const Event event : events) ++(event.error() ? timed_out : woke);
      if (!events.empty()) return;
      out.Yield("sleep", std::to_string(kHourNs));
      out.Yield("held", {}, {.timeout = std::chrono::hours(1)});
    });
  }
  for (int i = 0; i < 6'000; ++i) {
    core_->Submit([](Events, StepOutput& out) { out.Done(); });
  }
  EXPECT_THAT(Timers(), Lt(3 * kSleepers + 5'000)) << "some were forgotten";
  const auto pass = [&](uint64_t ns) {
    core_->clock.manual.AdvanceNs(ns);
    core_->WakeAll();
    core_->Settle();
  };
  pass(kHourNs - kMs);
  EXPECT_EQ(woke, 0);
  EXPECT_EQ(timed_out, 0);
  pass(2 * kMs);
  EXPECT_EQ(woke, kSleepers);
  EXPECT_EQ(timed_out, kSleepers);
  EXPECT_EQ(core_->core->LiveProcesses(), uint64_t{kSleepers});
  pass(kHourNs);
  EXPECT_EQ(core_->core->LiveProcesses(), 0u);
}

TEST_F(ForgottenTimers, ATimeoutThatNeverComesTakesNoTimer) {
  Start();
  core_->Submit([&](Events events, StepOutput& out) {
    if (!events.empty()) return;
    out.Yield("held", {}, {.timeout = Duration::max()});
  });
  EXPECT_EQ(core_->queue(0).timers.EarliestNs(), TimerWheel::kNever);
  CompleteHeld();
}

// Both of 5 ms; whichever was added first.
TEST_F(ForgottenTimers, AResultOfTheSameTimeComesBeforeTheTimeout) {
  Start();
  int results = 0;
  for (const bool timeout_first : {false, true}) {
    core_->Submit([&](Events events, StepOutput& out) {
      for (const Event event : events) {
        EXPECT_FALSE(event.error());
        ++results;
      }
      if (!events.empty()) return;
      if (timeout_first) {
        out.Yield("held", {}, {.timeout = std::chrono::milliseconds(5)});
      } else {
        out.Yield("sleep", std::to_string(5 * kMs),
                  {.timeout = std::chrono::milliseconds(5)});
      }
    });
    const actord_host* host = core_->core->host.abi();
    if (timeout_first) {
      ASSERT_EQ(host->complete_after(host, held_, 5 * kMs), ACTORD_OK);
    }
    core_->clock.manual.AdvanceNs(6 * kMs);
    core_->WakeAll();
    core_->Settle();
  }
  EXPECT_EQ(results, 2);
}

}  // namespace
}  // namespace actord::runtime
