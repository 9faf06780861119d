// Yields that wait for an answer from outside, and what a process sees while it
// waits.
#include <atomic>
#include <string>
#include <vector>

#include "tests/runtime/yields/yields_fixture.h"

namespace actord::runtime {
namespace {

using enum absl::StatusCode;

using WaitingYields = YieldsTest;

INSTANTIATE_TEST_SUITE_P(Workers, WaitingYields, ::testing::Values(1, 2, 3, 8));

TEST_P(WaitingYields, AnExternalYieldIsListedAnsweredOnceAndTheTruthIsTold) {
  StartWith();
  EXPECT_TRUE(runtime_->IsExternal("ext.pay"));
  EXPECT_TRUE(runtime_->IsExternal("exact"));
  EXPECT_FALSE(runtime_->IsExternal("exact.not"));
  EXPECT_FALSE(runtime_->IsExternal("sleep"));
  std::string got;
  const Script script{.step = [&](Events events, StepOutput& out) {
    if (events.empty()) {
      out.Yield("ext.pay", "12 EUR");
      return;
    }
    for (const Event event : events) got += TextOf(event) + ";";
    if (got.find("end") != std::string::npos) out.Done(got);
  }};
  const Pid pid = MustSubmit(script);
  ASSERT_TRUE(Eventually(
      [&] { return runtime_->Stats().external_yields_waiting == 1; }));
  const YieldPage page = runtime_->ListYields({}, 0, 10);
  ASSERT_EQ(page.yields.size(), 1u);
  const ExternalYield& yield = page.yields[0];
  EXPECT_EQ(yield.token, (YieldToken{pid, 1}));
  EXPECT_EQ(yield.command, "ext.pay");
  EXPECT_EQ(yield.process_type, "script");
  EXPECT_EQ(yield.payload.bytes, "12 EUR");
  EXPECT_EQ(yield.deadline_unix_ns, 0u);
  EXPECT_GT(yield.created_unix_ns, 0u);

  const YieldResult paid{kOk, {"paid", ""}};
  const YieldResult refused{kAborted, {"broke", ""}};
  EXPECT_EQ(runtime_->CompleteYield({pid, 2}, paid), CompleteAnswer::kUnknown);
  EXPECT_EQ(runtime_->CompleteYield(yield.token, paid),
            CompleteAnswer::kAccepted);
  EXPECT_EQ(runtime_->CompleteYield(yield.token, paid),
            CompleteAnswer::kDuplicate);
  EXPECT_EQ(runtime_->CompleteYield(yield.token, refused),
            CompleteAnswer::kConflict);
  EXPECT_EQ(runtime_->Stats().external_yields_waiting, 0u);
  EXPECT_TRUE(Send(pid, "m", "end").ok());
  EXPECT_EQ(MustAwait(pid).result.bytes, "OK:paid;OK:end;");
  EXPECT_EQ(runtime_->CompleteYield(yield.token, paid),
            CompleteAnswer::kDuplicate);
}

TEST_P(WaitingYields, AnExternalYieldOfAnEndedProcessHasExpired) {
  StartWith();
  const Script script{.step = [](Events events, StepOutput& out) {
    if (events.empty()) out.Yield("exact");
  }};
  const Pid pid = MustSubmit(script);
  ASSERT_TRUE(Eventually(
      [&] { return runtime_->Stats().external_yields_waiting == 1; }));
  EXPECT_TRUE(runtime_->Terminate(pid, "").ok());
  MustAwait(pid);
  EXPECT_EQ(runtime_->CompleteYield({pid, 1}, {}), CompleteAnswer::kExpired);
  EXPECT_EQ(runtime_->Stats().external_yields_waiting, 0u);
}

// Messages alone do not wake a blocked process; they come later, in order.
TEST_P(WaitingYields, ABlockedProcessSeesItsCompletionFirstAndThenItsMessages) {
  StartWith();
  std::vector<std::string> steps;
  const Script script{.step = [&](Events events, StepOutput& out) {
    std::string step;
    for (const Event event : events) {
      step += (event.is_completion() ? "c" : std::string(event.topic())) + " ";
    }
    steps.push_back(step);
    if (steps.size() == 1) {
      out.Yield("exact");
      out.Block();
    } else if (step.find("5") != std::string::npos) {
      out.Done();
    }
  }};
  const Pid pid = MustSubmit(script);
  ASSERT_TRUE(Eventually([&] {
    const auto info = runtime_->Describe(pid);
    return info.ok() && info->state == ProcessState::kBlocked;
  }));
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE(Send(pid, std::to_string(i)).ok());
  const auto info = runtime_->Describe(pid);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->state, ProcessState::kBlocked);
  EXPECT_EQ(info->mailbox_messages, 5u);
  EXPECT_GE(info->mailbox_bytes, 5 * 64u);
  EXPECT_EQ(info->yields, 1u);
  EXPECT_EQ(runtime_->CompleteYield({pid, 1}, {}), CompleteAnswer::kAccepted);
  MustAwait(pid);
  EXPECT_EQ(steps, (std::vector<std::string>{"", "c ", "1 2 3 4 5 "}));
}

TEST_P(WaitingYields, AnIdleProcessIsWokenByMessagesWhileItsYieldIsOut) {
  StartWith();
  std::vector<std::string> steps;
  const Script script{.step = [&](Events events, StepOutput& out) {
    for (const Event event : events) {
      steps.emplace_back(event.is_completion() ? "c" : event.topic());
    }
    if (events.empty()) out.Yield("exact");
    if (steps.size() == 1) {
      EXPECT_EQ(runtime_->CompleteYield({FromAbi(out.self()), 1}, {}),
                CompleteAnswer::kAccepted);
    }
    if (steps.size() == 2) out.Done();
  }};
  const Pid pid = MustSubmit(script);
  ASSERT_TRUE(Send(pid, "m").ok());
  MustAwait(pid);
  EXPECT_EQ(steps, (std::vector<std::string>{"m", "c"}));
}

TEST_P(WaitingYields, ACancelWakesABlockedProcess) {
  StartWith();
  const Script script{.step = [](Events events, StepOutput& out) {
    if (events.empty()) {
      out.Yield("exact");
      out.Block();
      return;
    }
    out.Done(events[0].is_cancel() ? "cancelled" : "?");
  }};
  const Pid handles = MustSubmit(script, "cancellable");
  const Pid does_not = MustSubmit(script);
  ASSERT_TRUE(runtime_->Cancel(handles, "x").ok());
  ASSERT_TRUE(runtime_->Cancel(does_not, "x").ok());
  EXPECT_EQ(MustAwait(handles).result.bytes, "cancelled");
  EXPECT_EQ(MustAwait(does_not).kind, EndKind::kCancelled);
}

}  // namespace
}  // namespace actord::runtime
