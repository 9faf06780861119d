// A shutdown that races with work in progress: inits, steps, pooled handlers,
// submits, other shutdowns.
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/runtime/shutdown_fixture.h"
#include "tests/support/script_handler.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;
using enum absl::StatusCode;

using ShutdownRace = ShutdownTest;

INSTANTIATE_TEST_SUITE_P(Workers, ShutdownRace, ::testing::Values(1, 2, 3, 8));

TEST_P(ShutdownRace, DuringInitAnswersTheSubmit) {
  StartWith(GetParam());
  Gate gate;
  std::atomic<int> closed{0};
  const Script script{.init =
                          [&](std::string_view) {
                            gate.Pass();
                            return Status();
                          },
                      .close = [&] { ++closed; }};
  std::promise<absl::StatusOr<Pid>> answer;
  auto answered = answer.get_future();
  runtime_->Submit(
      SubmitRequest{"script", "", {InputOf(script), ""}, {}},
      [&](absl::StatusOr<Pid> pid) { answer.set_value(std::move(pid)); });
  gate.AwaitEntered();
  std::thread opening([&] {
    Eventually([&] { return runtime_->Stats().state != RunState::kServing; });
    gate.Open();
  });
  runtime_->Shutdown(ShutdownMode::kNow, absl::InfiniteDuration());
  opening.join();
  // Init said yes, so it was started, and then it was terminated.
  const absl::StatusOr<Pid> pid = Get(answered);
  ASSERT_TRUE(pid.ok()) << pid.status();
  EXPECT_EQ(MustAwait(*pid).kind, EndKind::kTerminated);
  EXPECT_EQ(closed, 1);
  ExpectNothingLeft();
}

TEST_P(ShutdownRace, AChildThatBeginsDuringADrainIsAskedToEndAsWell) {
  StartWith(GetParam());
  std::atomic<int> cancels{0};
  const Script child{.step = [&](Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.is_cancel()) {
        ++cancels;
        out.Done();
      }
    }
  }};
  const Script parent{.step = [&](Events events, StepOutput& out) {
    if (events.empty()) return;
    EXPECT_TRUE(events[0].is_cancel());
    for (int i = 0; i < 10; ++i) {
      EXPECT_FALSE(out.Spawn("cancellable", "", InputOf(child)).empty());
    }
    out.Done();
  }};
  MustSubmit(parent, "cancellable");
  const ShutdownReport report =
      runtime_->Shutdown(ShutdownMode::kDrain, absl::Seconds(20));
  EXPECT_EQ(report.ended, 11u);
  EXPECT_EQ(report.forced, 0u);
  EXPECT_EQ(cancels, 10);
}

TEST_P(ShutdownRace, ADrainGoesOnDeliveringMessagesAndCompletions) {
  StartWith(GetParam());
  std::atomic<bool> cancelled{false};
  const Script script{.step = [&](Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.is_cancel()) {
        out.Yield("ext");
        cancelled = true;
      } else if (event.is_message()) {
        EXPECT_EQ(event.topic(), "go");
        out.Done("went");
      }
    }
  }};
  const Pid pid = MustSubmit(script, "cancellable");
  std::thread helping([&] {
    EXPECT_TRUE(Eventually(
        [&] { return runtime_->Stats().external_yields_waiting == 1; }));
    EXPECT_EQ(runtime_->CompleteYield({pid, 1}, {}), CompleteAnswer::kAccepted);
    EXPECT_TRUE(Send(pid, "go").ok());
  });
  EXPECT_EQ(runtime_->Shutdown(ShutdownMode::kDrain, absl::Seconds(20)).ended,
            1u);
  helping.join();
  EXPECT_EQ(MustAwait(pid).result.bytes, "went");
}

TEST_P(ShutdownRace, ASecondCallWithNowCutsADrainShort) {
  StartWith(GetParam());
  const Script stubborn{};
  MustSubmit(stubborn, "cancellable");
  ShutdownReport first;
  std::thread draining([&] {
    first = runtime_->Shutdown(ShutdownMode::kDrain, absl::InfiniteDuration());
  });
  ASSERT_TRUE(Eventually(
      [&] { return runtime_->Stats().state == RunState::kDraining; }));
  EXPECT_THAT(Submit(stubborn).status(),
              Refused(kUnavailable, reason::kDraining));
  const ShutdownReport second =
      runtime_->Shutdown(ShutdownMode::kNow, absl::ZeroDuration());
  draining.join();
  EXPECT_EQ(first.forced, 1u);
  EXPECT_EQ(second.forced, 1u);
  ExpectNothingLeft();
}

TEST_P(ShutdownRace, ASecondDrainWaitsForTheFirst) {
  StartWith(GetParam());
  const Script script{};
  const Pid pid = MustSubmit(script, "cancellable");
  std::vector<std::thread> callers;
  std::atomic<int> returned{0};
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      EXPECT_EQ(
          runtime_->Shutdown(ShutdownMode::kDrain, absl::InfiniteDuration())
              .forced,
          1u);
      ++returned;
    });
  }
  ASSERT_TRUE(Eventually([&] {
    const auto info = runtime_->Describe(pid);
    return info.ok() && info->cancel_requested;
  }));
  EXPECT_EQ(returned, 0);
  const ShutdownReport report =
      runtime_->Shutdown(ShutdownMode::kNow, absl::ZeroDuration());
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(report.forced, 1u);
}

TEST_P(ShutdownRace, WaitsForARunningStep) {
  StartWith(GetParam());
  Gate gate;
  std::atomic<bool> returned{false};
  const Script script{.step = [&](Events events, StepOutput& out) {
    if (!events.empty()) return;
    gate.Pass();
    returned = true;
    out.Done("came back");
  }};
  const Pid pid = MustSubmit(script);
  gate.AwaitEntered();
  std::thread opening([&] {
    Eventually([&] { return runtime_->Stats().state != RunState::kServing; });
    gate.Open();
  });
  const ShutdownReport report =
      runtime_->Shutdown(ShutdownMode::kNow, absl::ZeroDuration());
  opening.join();
  EXPECT_TRUE(returned);
  EXPECT_EQ(report.stuck, 0u);
  // Terminate takes effect at the step's end, and the step had said Done.
  EXPECT_EQ(MustAwait(pid).result.bytes, "came back");
  ExpectNothingLeft();
}

TEST_P(ShutdownRace, WaitsForARunningPooledHandler) {
  Gate gate;
  std::atomic<bool> returned{false};
  actord::testing::ScriptHandler slow("slow", ACTORD_HANDLER_POOLED,
                                      [&](actord::testing::Call&) {
                                        gate.Pass();
                                        returned = true;
                                        return ACTORD_HANDLED;
                                      });
  ASSERT_TRUE(catalog_.AddCommand(slow.descriptor(), &slow, "t").ok());
  StartWith(GetParam());
  const Script script{.step = [](Events, StepOutput& out) {
    out.Yield("slow");
    out.Block();
  }};
  MustSubmit(script);
  gate.AwaitEntered();
  std::thread opening([&] {
    Eventually([&] { return runtime_->Stats().processes_live == 0; });
    gate.Open();
  });
  const ShutdownReport report =
      runtime_->Shutdown(ShutdownMode::kNow, absl::ZeroDuration());
  opening.join();
  EXPECT_TRUE(returned);
  EXPECT_EQ(report.forced, 1u);
  EXPECT_EQ(report.stuck, 0u);
  ExpectNothingLeft();
}

// Takes the five seconds after which the runtime gives a step up.
TEST_F(ShutdownRace, AStepThatDoesNotComeBackIsReportedAsStuck) {
  StartWith(2);
  Gate gate;
  const Script script{.step = [&](Events, StepOutput&) { gate.Pass(); }};
  const Pid pid = MustSubmit(script);
  gate.AwaitEntered();
  std::promise<absl::StatusOr<Outcome>> awaited;
  auto answer = awaited.get_future();
  runtime_->Await(pid, [&](absl::StatusOr<Outcome> outcome) {
    awaited.set_value(std::move(outcome));
  });
  const ShutdownReport report =
      runtime_->Shutdown(ShutdownMode::kNow, absl::ZeroDuration());
  EXPECT_EQ(report.stuck, 1u);
  EXPECT_THAT(log(), HasSubstr(FormatPid(pid)));
  // Nobody waits for ever.
  EXPECT_THAT(Get(answer).status(), Refused(kUnavailable, reason::kStopped));
  gate.Open();
  runtime_.reset();
}

TEST_P(ShutdownRace, EveryAwaitIsAnswered) {
  StartWith(GetParam());
  const Script script{};
  std::atomic<int> answers{0};
  constexpr int kAwaits = 100;
  const Pid pid = MustSubmit(script);
  for (int i = 0; i < kAwaits; ++i) {
    runtime_->Await(pid, [&](const absl::StatusOr<Outcome>& outcome) {
      EXPECT_TRUE(outcome.ok());
      ++answers;
    });
  }
  runtime_->Shutdown(ShutdownMode::kNow, absl::ZeroDuration());
  EXPECT_EQ(answers, kAwaits);
}

// Submits race with the shutdown: each is answered exactly once, and every
// accepted process has ended, with its result, when the shutdown returns.
TEST_P(ShutdownRace, SubmitsThatRaceAreAnsweredOnceEach) {
  for (const ShutdownMode mode : {ShutdownMode::kDrain, ShutdownMode::kNow}) {
    for (int round = 0; round < 5; ++round) {
      std::destroy_at(&catalog_);
      std::construct_at(&catalog_);
      StartWith(GetParam());
      std::atomic<int> submitted{0};
      std::atomic<int> answered{0};
      std::atomic<int> closed{0};
      std::mutex mutex;
      std::vector<Pid> accepted;
      const Script script{
          .step = [](Events, StepOutput& out) { out.Continue(); },
          .close = [&] { ++closed; }};
      std::atomic<bool> stop{false};
      std::vector<std::thread> submitters;
      for (int i = 0; i < 2; ++i) {
        submitters.emplace_back([&] {
          while (!stop && submitted < 20'000) {
            ++submitted;
            runtime_->Submit(
                SubmitRequest{"script", "", {InputOf(script), ""}, {}},
                [&](const absl::StatusOr<Pid>& pid) {
                  ++answered;
                  const std::lock_guard lock(mutex);
                  if (pid.ok()) accepted.push_back(*pid);
                });
          }
        });
      }
      EXPECT_TRUE(Eventually([&] { return answered > 50; }));
      runtime_->Shutdown(mode, absl::Seconds(30));
      const size_t by_then = [&] {
        const std::lock_guard lock(mutex);
        return accepted.size();
      }();
      stop = true;
      for (std::thread& submitter : submitters) submitter.join();
      EXPECT_EQ(answered, submitted);
      EXPECT_EQ(accepted.size(), by_then) << "accepted after the shutdown";
      EXPECT_EQ(closed, static_cast<int>(accepted.size()));
      for (const Pid& pid : accepted) {
        ASSERT_NE(MustAwait(pid).kind, EndKind::kResult);
      }
      ExpectNothingLeft();
      runtime_.reset();
    }
  }
}

TEST_F(ShutdownRace, BeforeTheStartSubmitsAreRefused) {
  auto runtime = Runtime::Create({}, catalog_);
  ASSERT_TRUE(runtime.ok());
  runtime_ = *std::move(runtime);
  EXPECT_THAT(Submit(Script{}).status(),
              Refused(kUnavailable, reason::kStarting));
  EXPECT_EQ(runtime_->Shutdown(ShutdownMode::kDrain, absl::Seconds(1)).forced,
            0u);
}

TEST_P(ShutdownRace, TheDestructorShutsDown) {
  StartWith(GetParam());
  std::atomic<int> closed{0};
  const Script script{.close = [&] { ++closed; }};
  for (int i = 0; i < 10; ++i) MustSubmit(script, "cancellable");
  runtime_.reset();
  EXPECT_EQ(closed, 10);
}

}  // namespace
}  // namespace actord::runtime
