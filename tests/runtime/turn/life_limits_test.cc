// Limits on how long a process goes on, and on how many there are of a type.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "runtime/process/errors.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;
using enum absl::StatusCode;

class LifeLimitsTest : public ::testing::Test {
 protected:
  void Start(RuntimeOptions options, int workers = 1) {
    core_ = std::make_unique<SteppedCore>(workers, std::move(options));
    core_->Settle();
  }
  // The end of the process; nullopt: it lives.
  std::optional<Outcome> OutcomeOf(const Pid& pid) {
    std::optional<Outcome> outcome;
    Results& results = core_->core->results;
    results.Await(
        Owner::kAny, pid,
        [&](absl::StatusOr<Outcome> o) {
          if (o.ok()) outcome = *o;
        },
        [] { return false; }, [] { return absl::NotFoundError(""); });
    return outcome;
  }
  // Lets time pass, and wakes the workers that sleep until then.
  void Pass(uint64_t ns) {
    core_->clock.manual.AdvanceNs(ns);
    core_->WakeAll();
    core_->Settle();
  }
  absl::Status TrySubmit(const std::string& type,
                         const actord::testing::Script& script) {
    absl::Status status;
    core_->core->admission.Submit(
        SubmitRequest{type, "", {actord::testing::InputOf(script), ""}, {}},
        Pid{}, /*keep_result=*/true,
        [&](absl::StatusOr<Pid> pid) { status = pid.status(); });
    core_->Settle();
    return status;
  }
  void Terminate(const Pid& pid) {
    ASSERT_TRUE(
        core_->core->delivery
            .Control(Owner::kAny, pid, kEventTerminate, "", core_->core->lane)
            .ok());
    core_->Settle();
  }
  RuntimeStats Stats() { return core_->core->Stats(); }

  std::unique_ptr<SteppedCore> core_;
};

TEST_F(LifeLimitsTest, TheLastStepCountsAndNoOtherFollows) {
  RuntimeOptions options;
  options.max_steps = 10;
  Start(options);
  int steps = 0;
  int got = 0;
  const Pid sink = core_->Submit([&](Events events, StepOutput&) {
    got += static_cast<int>(events.size());
  });
  const Pid endless = core_->Submit([&](Events, StepOutput& out) {
    if (++steps == 10) out.Send(ToAbi(sink), "x");
    out.Continue();
  });
  EXPECT_EQ(steps, 10);
  EXPECT_EQ(got, 1);
  const std::optional<Outcome> outcome = OutcomeOf(endless);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->kind, EndKind::kLimit);
  EXPECT_EQ(outcome->code, kResourceExhausted);
  EXPECT_THAT(outcome->message, HasSubstr("10 steps"));
  EXPECT_EQ(outcome->steps, 10u);
  EXPECT_EQ(Stats().ended_by_steps, 1u);
  EXPECT_EQ(Stats().processes_failed, 1u);
}

TEST_F(LifeLimitsTest, ProcessDoneInItsLastAllowedStepHasAResult) {
  RuntimeOptions options;
  options.max_steps = 3;
  Start(options);
  int steps = 0;
  const Pid pid = core_->Submit([&](Events, StepOutput& out) {
    if (++steps == 3) return out.Done("fine");
    out.Continue();
  });
  EXPECT_EQ(OutcomeOf(pid)->kind, EndKind::kResult);
  EXPECT_EQ(Stats().ended_by_steps, 0u);
}

TEST_F(LifeLimitsTest, ALoweredNumberOfStepsEndsAProcessAtItsNextStep) {
  Start({});
  const Pid pid = core_->Submit([](Events, StepOutput&) {});
  for (int i = 0; i < 5; ++i) {
    core_->Send(pid, -1);
    core_->Settle();
  }
  Limits limits = core_->core->limits.Get();
  limits.max_steps = 2;
  ASSERT_TRUE(core_->core->SetLimits(limits).ok());
  EXPECT_FALSE(OutcomeOf(pid).has_value()) << "it takes none";
  core_->Send(pid, -1);
  core_->Settle();
  EXPECT_EQ(OutcomeOf(pid)->kind, EndKind::kLimit);
  EXPECT_THAT(OutcomeOf(pid)->message, HasSubstr("7 steps"));
}

TEST_F(LifeLimitsTest, ProcessThatLivesTooLongEndsEvenIfItWaits) {
  RuntimeOptions options;
  options.max_lifetime = absl::Seconds(5);
  Start(options);
  const Pid idle = core_->Submit([](Events, StepOutput&) {});
  const Pid blocked = core_->Submit([](Events, StepOutput& out) {
    out.Yield("sleep", "1000000000000");
    out.Block();
  });
  const Pid obstinate =
      core_->Submit(actord::testing::Script{.step = [](Events, StepOutput&) {}},
                    "cancellable");
  core_->Send(blocked, -1, "left");
  Pass(5 * kSecond - kMs);
  EXPECT_FALSE(OutcomeOf(idle).has_value());
  Pass(2 * kMs);
  for (const Pid& pid : {idle, blocked, obstinate}) {
    const std::optional<Outcome> outcome = OutcomeOf(pid);
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->kind, EndKind::kLimit);
    EXPECT_EQ(outcome->code, kResourceExhausted);
    EXPECT_THAT(outcome->message, HasSubstr("lived for 5"));
  }
  EXPECT_EQ(Stats().ended_by_lifetime, 3u);
  EXPECT_EQ(Stats().dead_letters, 1u);
}

TEST_F(LifeLimitsTest, TheTimerOfAnEndedProcessDoesNotEndTheNext) {
  RuntimeOptions options;
  options.max_lifetime = absl::Seconds(5);
  options.max_processes = 1;
  Start(options);
  const Pid first = core_->Submit([](Events, StepOutput&) {});
  Pass(3 * kSecond);
  Terminate(first);
  // In the same slot.
  const Pid second = core_->Submit([](Events, StepOutput&) {});
  EXPECT_EQ(second.slot, first.slot);
  Pass(3 * kSecond);
  EXPECT_FALSE(OutcomeOf(second).has_value()) << "that was the first one's";
  Pass(3 * kSecond);
  EXPECT_EQ(OutcomeOf(second)->kind, EndKind::kLimit);
  EXPECT_EQ(Stats().ended_by_lifetime, 1u);
}

TEST_F(LifeLimitsTest, AChangedLifetimeIsForLaterProcesses) {
  Start({});
  const Pid old = core_->Submit([](Events, StepOutput&) {});
  Limits limits = core_->core->limits.Get();
  limits.max_lifetime = absl::Seconds(1);
  ASSERT_TRUE(core_->core->SetLimits(limits).ok());
  const Pid young = core_->Submit([](Events, StepOutput&) {});
  Pass(2 * kSecond);
  EXPECT_FALSE(OutcomeOf(old).has_value());
  EXPECT_EQ(OutcomeOf(young)->kind, EndKind::kLimit);
}

TEST_F(LifeLimitsTest, ProcessesOfATypeAreLimited) {
  RuntimeOptions options;
  options.type_limits = {{.process_type = "script", .max_processes = 2}};
  Start(options);
  const actord::testing::Script idle{.step = [](Events, StepOutput&) {}};
  const Pid first = core_->Submit(idle);
  core_->Submit(idle);
  const absl::Status refused = TrySubmit("script", idle);
  EXPECT_EQ(refused.code(), kResourceExhausted);
  EXPECT_EQ(ReasonOf(refused), reason::kProcessLimit);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("2 processes of type script"));
  EXPECT_TRUE(TrySubmit("cancellable", idle).ok()) << "another type";
  Terminate(first);
  EXPECT_TRUE(TrySubmit("script", idle).ok());
  EXPECT_FALSE(TrySubmit("script", idle).ok());
  EXPECT_EQ(Stats().refused_processes_of_type, 2u);
  EXPECT_EQ(Stats().refused_processes, 0u);
}

TEST_F(LifeLimitsTest, CallerToldOfAnEndMayStartAnotherOfItsType) {
  RuntimeOptions options;
  options.type_limits = {{.process_type = "script", .max_processes = 1}};
  Start(options);
  const actord::testing::Script idle{.step = [](Events, StepOutput&) {}};
  const Pid first = core_->Submit(idle);
  absl::Status next = absl::UnknownError("not told yet");
  core_->core->results.Await(
      Owner::kAny, first,
      [&](const absl::StatusOr<Outcome>&) {
        core_->core->admission.Submit(
            SubmitRequest{
                "script", "", {actord::testing::InputOf(idle), ""}, {}},
            Pid{}, /*keep_result=*/true,
            [&](const absl::StatusOr<Pid>& pid) { next = pid.status(); });
      },
      [] { return true; }, [] { return absl::NotFoundError(""); });
  Terminate(first);
  EXPECT_TRUE(next.ok()) << next;
}

TEST_F(LifeLimitsTest, ASpawnBeyondTheLimitOfItsTypeHasNoPid) {
  RuntimeOptions options;
  options.type_limits = {{.process_type = "script", .max_processes = 2}};
  Start(options);
  const actord::testing::Script idle{.step = [](Events, StepOutput&) {}};
  bool first = false;
  bool second = true;
  bool other = false;
  const actord::testing::Script parent{.step = [&](Events, StepOutput& out) {
    const std::string input = actord::testing::InputOf(idle);
    first = !out.Spawn("script", "", input).empty();
    second = !out.Spawn("script", "", input).empty();
    other = !out.Spawn("cancellable", "", input).empty();
    // Room that a failing step had reserved is free again.
    if (core_->core->Stats().processes_started == 1) {
      out.Fail(Code::kAborted, "by intention");
    }
  }};
  core_->Submit(parent);
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
  EXPECT_TRUE(other);
  EXPECT_EQ(Stats().refused_processes_of_type, 1u);
  EXPECT_EQ(Stats().processes_live, 0u);
  first = false;
  core_->Submit(parent);
  EXPECT_TRUE(first);
  EXPECT_FALSE(second);
}

TEST_F(LifeLimitsTest, YieldsAboveTheLimitAreCounted) {
  RuntimeOptions options;
  options.max_yields = 2;
  Start(options);
  core_->Submit([](Events events, StepOutput& out) {
    if (!events.empty()) return;
    for (int i = 0; i < 5; ++i) out.Yield("sleep", "1000000000000");
  });
  EXPECT_EQ(Stats().refused_yields, 3u);
}

}  // namespace
}  // namespace actord::runtime
