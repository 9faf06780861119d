// Cancels with a deadline. Workers run by hand, under the test's clock.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

class CancelDeadlines : public ::testing::Test {
 protected:
  void Start(int workers = 1, RuntimeOptions options = {}) {
    core_ = std::make_unique<SteppedCore>(workers, std::move(options));
    core_->Settle();
  }
  // There is one slot, which each process gets again.
  void StartWithOneSlot() {
    RuntimeOptions options;
    options.max_processes = 1;
    Start(1, std::move(options));
  }
  Pid SubmitStubborn() {
    return core_->Submit(
        actord::testing::Script{.step = [](Events, StepOutput&) {}},
        "cancellable");
  }
  void Cancel(const Pid& pid, absl::Duration deadline) {
    ASSERT_TRUE(core_->core->delivery
                    .Control(Owner::kAny, pid, ACTORD_EVENT_CANCEL, "please",
                             core_->core->lane)
                    .ok());
    core_->core->lifetimes.BeginCancel(pid, deadline);
    core_->Settle();
  }
  void Pass(uint64_t ns) {
    core_->clock.manual.AdvanceNs(ns);
    core_->WakeAll();
    core_->Settle();
  }
  [[nodiscard]] bool Lives(const Pid& pid) const {
    return core_->core->processes.Find(pid) != nullptr;
  }
  std::optional<Outcome> OutcomeOf(const Pid& pid) {
    std::optional<Outcome> outcome;
    core_->core->results.Await(
        Owner::kAny, pid,
        [&](absl::StatusOr<Outcome> o) {
          if (o.ok()) outcome = *o;
        },
        [] { return false; }, [] { return absl::NotFoundError(""); });
    return outcome;
  }
  void ExpectTerminated(const Pid& pid, const std::string& message) {
    const std::optional<Outcome> outcome = OutcomeOf(pid);
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->kind, EndKind::kTerminated);
    EXPECT_EQ(outcome->code, absl::StatusCode::kAborted);
    EXPECT_EQ(outcome->message, message);
  }

  std::unique_ptr<SteppedCore> core_;
};

TEST_F(CancelDeadlines, AProcessThatDoesNotEndIsTerminatedThen) {
  Start();
  const Pid pid = SubmitStubborn();
  Cancel(pid, absl::Milliseconds(250));
  Pass(249 * kMs);
  EXPECT_TRUE(Lives(pid));
  Pass(2 * kMs);
  EXPECT_FALSE(Lives(pid));
  ExpectTerminated(pid, "the process did not end within 250 ms of its cancel");
}

TEST_F(CancelDeadlines, PartsOfAMillisecondAreRoundedUp) {
  Start();
  const Pid pid = SubmitStubborn();
  Cancel(pid, absl::Nanoseconds(1));
  EXPECT_TRUE(Lives(pid));
  Pass(2 * kMs);
  ExpectTerminated(pid, "the process did not end within 1 ms of its cancel");
}

TEST_F(CancelDeadlines, AnEarlierDeadlineReplacesALaterOne) {
  Start();
  const Pid pid = SubmitStubborn();
  Cancel(pid, absl::Seconds(10));
  Pass(1 * kSecond);
  Cancel(pid, absl::Seconds(2));
  Pass(2 * kSecond + kMs);
  ExpectTerminated(pid, "the process did not end within 2000 ms of its cancel");
  Pass(10 * kSecond);
}

TEST_F(CancelDeadlines, ALaterDeadlineChangesNothing) {
  Start();
  const Pid pid = SubmitStubborn();
  Cancel(pid, absl::Seconds(2));
  Pass(1 * kSecond);
  Cancel(pid, absl::Seconds(10));
  Cancel(pid, absl::InfiniteDuration());
  Pass(1 * kSecond + kMs);
  ExpectTerminated(pid, "the process did not end within 2000 ms of its cancel");
}

TEST_F(CancelDeadlines, TheNextProcessInTheSlotIsLeftAlone) {
  StartWithOneSlot();
  const Pid pid = core_->Submit([](Events, StepOutput&) {});
  Cancel(pid, absl::Seconds(1));
  EXPECT_FALSE(Lives(pid));
  const Pid next = SubmitStubborn();
  ASSERT_EQ(next.slot, pid.slot);
  Pass(2 * kSecond);
  EXPECT_TRUE(Lives(next));
  // Its own deadline does not depend on that of the process before.
  Cancel(next, absl::Seconds(5));
  Pass(5 * kSecond + kMs);
  EXPECT_FALSE(Lives(next));
}

// A process that does not come to its turn gets one terminate, however many
// deadlines follow.
TEST_F(CancelDeadlines, OneTerminateIsPostedWhileAStepRuns) {
  Start(2);
  uint64_t waiting = 0;
  bool has_run = false;
  Pid pid;
  pid = core_->Submit(
      actord::testing::Script{.step =
                                  [&](Events events, StepOutput&) {
                                    if (events.empty() || has_run) return;
                                    has_run = true;
                                    for (int i = 0; i < 10; ++i) {
                                      core_->core->lifetimes.BeginCancel(
                                          pid, absl::Milliseconds(1));
                                      core_->clock.manual.AdvanceNs(5 * kMs);
                                      for (int w = 0; w < 2; ++w) {
                                        if (!core_->IsAsleep(w)) continue;
                                        core_->Wake(w);
                                        core_->RunUntilSleep(w);
                                      }
                                    }
                                    waiting = Activity::Urgent(
                                        core_->process(pid).activity.load());
                                  }},
      "cancellable");
  core_->Send(pid, -1);
  core_->Settle();
  EXPECT_TRUE(has_run);
  EXPECT_EQ(waiting, 1u);
  ExpectTerminated(pid, "the process did not end within 1 ms of its cancel");
}

TEST_F(CancelDeadlines, TimersOfProcessesThatHaveEndedDoNotPileUp) {
  Start();
  for (int i = 0; i < 15'000; ++i) {
    Cancel(core_->Submit([](Events, StepOutput&) {}), absl::Hours(1));
  }
  EXPECT_THAT(core_->queue(0).timers.Size(),
              ::testing::Lt(2 * SchedulerPolicy::kFewTimers));
}

TEST_F(CancelDeadlines, ADeadlineThatComesAfterTheEndIsNotTheNextProcesss) {
  StartWithOneSlot();
  const Pid ended = core_->Submit([](Events, StepOutput&) {});
  Cancel(ended, absl::Hours(1));
  ASSERT_FALSE(Lives(ended));
  const Pid next = SubmitStubborn();
  ASSERT_EQ(next.slot, ended.slot);
  Cancel(next, absl::Milliseconds(250));
  // Its caller was overtaken by the end of the process and by the next cancel.
  core_->core->lifetimes.BeginCancel(ended, absl::Hours(1));
  Pass(251 * kMs);
  EXPECT_FALSE(Lives(next));
}

}  // namespace
}  // namespace actord::runtime
