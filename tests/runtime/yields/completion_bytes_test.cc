// Completions that wait for their process are bounded by bytes.
#include <chrono>
#include <semaphore>
#include <string>
#include <vector>

#include "tests/runtime/settings/limits_fixture.h"

namespace actord::runtime {
namespace {

using enum absl::StatusCode;

// Holds completions back in the queue of a process that is in its step.
class CompletionBytesTest : public LiveLimitsTest {
 protected:
  static constexpr size_t kEach = 10'000;

  void SetUp() override {
    Add("refuses", ACTORD_HANDLER_INLINE, [](actord::testing::Call& call) {
      call.Reply(ACTORD_ABORTED, std::string(2000, 'e'));
      return ACTORD_HANDLED;
    });
    Add("late", ACTORD_HANDLER_INLINE, [&](actord::testing::Call& call) {
      deferred_.push_back(call.Defer());
      deferrals_.release();
      return ACTORD_DEFERRED;
    });
    LiveLimitsTest::SetUp();
  }

  // A process that yields `count` commands and, at the first message, stays in
  // its step until released. It ends when it has had all completions.
  Pid SubmitHeld(const std::string& command, int count) {
    const Script script{
        .step = [this, command, count](Events events, StepOutput& out) {
          if (events.empty()) {
            for (int i = 0; i < count; ++i) out.Yield(command);
          }
          for (const Event event : events) {
            if (event.is_message()) {
              entered_.set_value();
              release_.get_future().wait();
            } else {
              (event.error() ? refused_ : got_) += 1;
            }
          }
          if (got_ + refused_ == count) out.Done();
        }};
    Pid pid;
    // The slot of the last one is free a moment after its end is known.
    EXPECT_TRUE(Eventually([&] {
      const absl::StatusOr<Pid> submitted = Submit(script);
      if (submitted.ok()) pid = *submitted;
      return submitted.ok();
    }));
    EXPECT_TRUE(Eventually([&] {
      const auto info = runtime_->Describe(pid);
      return info.ok() && info->yields == static_cast<uint64_t>(count);
    }));
    EXPECT_TRUE(Send(pid, "hold").ok());
    entered_.get_future().wait();
    return pid;
  }
  void LimitTo(size_t completions) {
    Set([&](Limits& limits) {
      limits.max_payload_bytes = kEach;
      limits.max_mailbox_bytes = completions * (kEach + 500);
    });
  }

  const std::string bytes_ = std::string(kEach, 'x');
  std::vector<actord_completion> deferred_;
  std::counting_semaphore<> deferrals_{0};  // one for each of `deferred_`
  std::promise<void> entered_;
  std::promise<void> release_;
  int got_ = 0;
  int refused_ = 0;
};

TEST_F(CompletionBytesTest, AnAnswerAboveTheLimitIsRefusedAndMayComeAgain) {
  LimitTo(3);
  const Pid pid = SubmitHeld("exact", 50);
  const YieldResult result{kOk, {bytes_, ""}};
  for (uint64_t tag = 1; tag <= 3; ++tag) {
    EXPECT_EQ(runtime_->CompleteYield({pid, tag}, result),
              CompleteAnswer::kAccepted);
  }
  EXPECT_EQ(runtime_->CompleteYield({pid, 4}, result),
            CompleteAnswer::kMailboxFull);
  // A short completion, such as every error, always has room.
  for (uint64_t tag = 5; tag <= 50; ++tag) {
    EXPECT_EQ(runtime_->CompleteYield({pid, tag}, {kAborted, {"no", ""}}),
              CompleteAnswer::kAccepted);
  }
  release_.set_value();
  EXPECT_TRUE(Eventually([&] {
    return runtime_->CompleteYield({pid, 4}, result) ==
           CompleteAnswer::kAccepted;
  }));
  EXPECT_EQ(MustAwait(pid).kind, EndKind::kResult);
  EXPECT_EQ(got_, 4);
  EXPECT_EQ(refused_, 46);
}

TEST_F(CompletionBytesTest, AHandlersCompletionAboveTheLimitBecomesAnError) {
  LimitTo(2);
  const Pid pid = SubmitHeld("late", 3);
  const actord_payload payload{ToAbi(bytes_), {}};
  std::vector<int32_t> answers;
  for (const actord_completion completion : deferred_) {
    answers.push_back(runtime_->host()->complete(runtime_->host(), completion,
                                                 ACTORD_OK, &payload));
  }
  EXPECT_EQ(answers, (std::vector<int32_t>{ACTORD_OK, ACTORD_OK,
                                           ACTORD_RESOURCE_EXHAUSTED}));
  release_.set_value();
  EXPECT_EQ(MustAwait(pid).kind, EndKind::kResult);
  EXPECT_EQ(got_, 2);
  EXPECT_EQ(refused_, 1);
}

TEST_F(CompletionBytesTest, RepliesWithinAStepAreBoundedAlike) {
  LimitTo(4);
  int got = 0;
  int refused = 0;
  int steps = 0;
  const Script script{.step = [&](Events events, StepOutput& out) {
    for (const Event event : events) (event.error() ? refused : got) += 1;
    // The second round finds as much room as the first.
    if (++steps == 3) {
      out.Done();
      return;
    }
    for (int i = 0; i < 10; ++i) out.Yield("echo", bytes_);
    out.Block();
  }};
  EXPECT_EQ(MustAwait(MustSubmit(script)).kind, EndKind::kResult);
  EXPECT_EQ(got, 2 * 4);
  EXPECT_EQ(refused, 2 * 6);
}

// A limit below the size of a short text changes no error's text.
TEST_F(CompletionBytesTest, AnErrorArrivesAsItWasGiven) {
  Set([](Limits& limits) { limits.max_payload_bytes = 100; });
  std::vector<std::string> texts;
  const std::string text(2000, 'e');
  const Script script{.step = [&](Events events, StepOutput& out) {
    if (events.empty()) {
      out.Yield("exact");
      out.Yield("refuses");
    }
    for (const Event event : events) {
      texts.push_back(std::string(event.error().message));
    }
    if (texts.size() == 2) out.Done();
  }};
  const Pid pid = MustSubmit(script);
  EXPECT_TRUE(Eventually([&] {
    return runtime_->CompleteYield({pid, 1}, {kAborted, {text, ""}}) ==
           CompleteAnswer::kAccepted;
  }));
  EXPECT_EQ(MustAwait(pid).kind, EndKind::kResult);
  EXPECT_EQ(texts, (std::vector<std::string>(2, text)));
}

TEST_F(CompletionBytesTest, AContentTypeThatIsTooLongIsNamed) {
  std::string text;
  const Script script{.step = [&](Events events, StepOutput& out) {
    if (events.empty()) {
      out.Yield("late");
      return;
    }
    text = events[0].error().message;
    out.Done();
  }};
  const Pid pid = MustSubmit(script);
  // That the yield is outstanding is known before its handler is called.
  ASSERT_TRUE(deferrals_.try_acquire_for(std::chrono::seconds(30)));
  const std::string type(1025, 't');
  const actord_payload payload{{}, ToAbi(type)};
  EXPECT_EQ(runtime_->host()->complete(runtime_->host(), deferred_.at(0),
                                       ACTORD_OK, &payload),
            ACTORD_INVALID_ARGUMENT);
  EXPECT_EQ(MustAwait(pid).kind, EndKind::kResult);
  EXPECT_THAT(text, ::testing::HasSubstr("content type"));
  EXPECT_THAT(text, ::testing::HasSubstr("1025 bytes; the limit is 1024"));
}

TEST_F(CompletionBytesTest, AProcessThatYieldsFasterThanItReadsFails) {
  LimitTo(2);
  const Script script{.step = [&](Events /*events*/, StepOutput& out) {
    for (int i = 0; i < 1000; ++i) out.Yield("echo");
    out.Continue();
  }};
  const Outcome outcome = MustAwait(MustSubmit(script));
  EXPECT_EQ(outcome.kind, EndKind::kThrew);
  EXPECT_EQ(outcome.code, kResourceExhausted);
  EXPECT_THAT(outcome.message, ::testing::HasSubstr("faster"));
}

// What a process leaves behind is no burden of the next one in its slot.
TEST_F(CompletionBytesTest, EndWithTheirProcess) {
  LimitTo(2);
  Set([](Limits& limits) { limits.max_processes = 1; });
  uint32_t slot = 0;
  for (int i = 0; i < 5; ++i) {
    entered_ = {};
    release_ = {};
    const Pid pid = SubmitHeld("exact", 3);
    if (i == 0) slot = pid.slot;
    ASSERT_EQ(pid.slot, slot);
    for (uint64_t tag = 1; tag <= 2; ++tag) {
      EXPECT_EQ(runtime_->CompleteYield({pid, tag}, {kOk, {bytes_, ""}}),
                CompleteAnswer::kAccepted);
    }
    EXPECT_TRUE(runtime_->Terminate(pid, "").ok());
    release_.set_value();
    MustAwait(pid);
    got_ = refused_ = 0;
  }
}

}  // namespace
}  // namespace actord::runtime
