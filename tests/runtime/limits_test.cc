// Limits that change while a runtime runs.
#include "runtime/limits.h"

#include <memory>
#include <string>
#include <vector>

#include "runtime/options.h"
#include "tests/runtime/runtime_fixture.h"
#include "tests/runtime/yields_fixture.h"

namespace actord::runtime {
namespace {

using enum absl::StatusCode;
using ::testing::HasSubstr;

TEST(LiveLimits, GiveBackWhatTheyWereGiven) {
  Limits given{.max_processes = 1,
               .max_payload_bytes = 2,
               .max_mailbox_messages = 3,
               .max_mailbox_bytes = 4,
               .max_yields = 5,
               .max_external_yield_bytes = 11,
               .default_yield_timeout = absl::Seconds(6),
               .answered_yield_ttl = absl::Seconds(7),
               .answered_yield_max = 8,
               .result_ttl = absl::Seconds(9),
               .result_max_bytes = 10};
  LiveLimits limits{Limits{}};
  const auto expect_given = [&] {
    const Limits got = limits.Get();
    EXPECT_EQ(got.max_processes, given.max_processes);
    EXPECT_EQ(got.max_payload_bytes, given.max_payload_bytes);
    EXPECT_EQ(got.max_mailbox_messages, given.max_mailbox_messages);
    EXPECT_EQ(got.max_mailbox_bytes, given.max_mailbox_bytes);
    EXPECT_EQ(got.max_yields, given.max_yields);
    EXPECT_EQ(got.max_external_yield_bytes, given.max_external_yield_bytes);
    EXPECT_EQ(got.default_yield_timeout, given.default_yield_timeout);
    EXPECT_EQ(got.answered_yield_ttl, given.answered_yield_ttl);
    EXPECT_EQ(got.answered_yield_max, given.answered_yield_max);
    EXPECT_EQ(got.result_ttl, given.result_ttl);
    EXPECT_EQ(got.result_max_bytes, given.result_max_bytes);
  };
  limits.Set(given);
  expect_given();
  given.default_yield_timeout = given.answered_yield_ttl = given.result_ttl =
      absl::InfiniteDuration();
  limits.Set(given);
  expect_given();
}

class LiveLimitsTest : public YieldsTest {
 protected:
  void SetUp() override { StartWith(Two()); }
  static RuntimeOptions Two() {
    RuntimeOptions options;
    options.workers = 2;
    return options;
  }

  // Changes one limit of those in force.
  template <typename Change>
  void Set(Change change) {
    Limits limits = runtime_->limits().Get();
    change(limits);
    const absl::Status status = runtime_->SetLimits(limits);
    ASSERT_TRUE(status.ok()) << status;
  }

  const Script idle_{.step = [](Events, StepOutput&) {}};
};

TEST_F(LiveLimitsTest, ALimitOutOfItsRangeChangesNothing) {
  Limits limits = runtime_->limits().Get();
  limits.max_yields = 7;
  limits.max_payload_bytes = 0;
  const absl::Status status = runtime_->SetLimits(limits);
  EXPECT_EQ(status.code(), kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("max_payload_bytes"));
  EXPECT_EQ(runtime_->limits().max_yields(), Limits{}.max_yields);
  EXPECT_EQ(runtime_->limits().max_payload_bytes(), Limits{}.max_payload_bytes);
}

TEST_F(LiveLimitsTest, Processes) {
  std::vector<Pid> pids;
  for (int i = 0; i < 5; ++i) pids.push_back(MustSubmit(idle_));
  // Below what lives already: that stays, and nothing comes in.
  Set([](Limits& limits) { limits.max_processes = 3; });
  EXPECT_THAT(Submit(idle_).status(),
              Refused(kResourceExhausted, reason::kProcessLimit));
  EXPECT_TRUE(runtime_->Describe(pids[4]).ok());
  Set([](Limits& limits) { limits.max_processes = 7; });
  MustSubmit(idle_);
  MustSubmit(idle_);
  const auto refused = Submit(idle_);
  EXPECT_THAT(refused.status(),
              Refused(kResourceExhausted, reason::kProcessLimit));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("7"));
  Set([](Limits& limits) { limits.max_processes = 1'000'000; });
  for (int i = 0; i < 1000; ++i) MustSubmit(idle_);
}

TEST_F(LiveLimitsTest, ProcessesBeyondTheLimitOfTheStart) {
  runtime_.reset();
  catalog_ = Catalog();
  handlers_.clear();
  RuntimeOptions options = Two();
  options.max_processes = 2;
  StartWith(options);
  MustSubmit(idle_);
  MustSubmit(idle_);
  EXPECT_FALSE(Submit(idle_).ok());
  // More than one chunk of the table.
  Set([](Limits& limits) { limits.max_processes = 10'000; });
  for (int i = 2; i < 10'000; ++i) MustSubmit(idle_);
}

// The slots that threads have at hand do not count against a lowered limit.
TEST_F(LiveLimitsTest, ProcessesThatEndedLeaveRoomUnderALoweredLimit) {
  const Script ends{.step = [](Events, StepOutput& out) { out.Done(); }};
  for (int i = 0; i < 2000; ++i) MustAwait(MustSubmit(ends));
  Set([](Limits& limits) { limits.max_processes = 3; });
  for (int i = 0; i < 3; ++i) {
    // A slot is free a moment after its process's result is known.
    EXPECT_TRUE(Eventually([&] { return Submit(idle_).ok(); }));
  }
  EXPECT_THAT(Submit(idle_).status(),
              Refused(kResourceExhausted, reason::kProcessLimit));
}

TEST_F(LiveLimitsTest, PayloadBytes) {
  const std::string large(2000, 'x');
  const Pid pid = MustSubmit(idle_);
  EXPECT_TRUE(Send(pid, "x", large).ok());
  EXPECT_EQ(YieldOnce("echo", large), "OK:" + large);
  Set([](Limits& limits) { limits.max_payload_bytes = 1000; });
  EXPECT_THAT(Send(pid, "x", large),
              Refused(kInvalidArgument, reason::kPayloadTooLarge));
  EXPECT_THAT(Submit(SubmitRequest{"script", "", {large, ""}, {}}).status(),
              Refused(kInvalidArgument, reason::kPayloadTooLarge));
  const Script speaks{
      .step = [&](Events, StepOutput& out) { out.Done(large); }};
  EXPECT_EQ(MustAwait(MustSubmit(speaks)).kind, EndKind::kThrew);
  Set([](Limits& limits) { limits.max_payload_bytes = 2 << 20; });
  EXPECT_TRUE(Send(pid, "x", std::string(2 << 20, 'x')).ok());
  EXPECT_EQ(MustAwait(MustSubmit(speaks)).result.bytes, large);
}

// A process that takes no messages until it is told to.
class FullMailboxTest : public LiveLimitsTest {
 protected:
  Pid SubmitDeaf() {
    const Script deaf{.step = [](Events, StepOutput& out) {
      out.Yield("exact");
      out.Block();
    }};
    const Pid pid = MustSubmit(deaf);
    EXPECT_TRUE(Eventually([&] {
      return runtime_->Describe(pid)->state == ProcessState::kBlocked;
    }));
    return pid;
  }
  // How many more messages of this size the mailbox takes, up to `most`.
  int CountAccepted(const Pid& pid, size_t bytes, int most) {
    int accepted = 0;
    while (accepted < most && Send(pid, "x", std::string(bytes, 'x')).ok()) {
      ++accepted;
    }
    return accepted;
  }
};

TEST_F(FullMailboxTest, MailboxMessages) {
  const Pid pid = SubmitDeaf();
  EXPECT_EQ(CountAccepted(pid, 1, 10), 10);
  Set([](Limits& limits) { limits.max_mailbox_messages = 10; });
  const absl::Status full = Send(pid, "x");
  EXPECT_THAT(full, Refused(kResourceExhausted, reason::kMailboxFull));
  EXPECT_THAT(std::string(full.message()), HasSubstr(" 10 messages"));
  Set([](Limits& limits) { limits.max_mailbox_messages = 13; });
  EXPECT_EQ(CountAccepted(pid, 1, 100), 3);
}

TEST_F(FullMailboxTest, MailboxBytes) {
  const Pid pid = SubmitDeaf();
  EXPECT_EQ(CountAccepted(pid, 10'000, 10), 10);
  Set([](Limits& limits) {
    limits.max_payload_bytes = 10'000;
    limits.max_mailbox_bytes = 100'000;
  });
  EXPECT_EQ(CountAccepted(pid, 10'000, 100), 0);
  Set([](Limits& limits) { limits.max_mailbox_bytes = 150'000; });
  EXPECT_EQ(CountAccepted(pid, 10'000, 100), 4);
}

TEST_F(LiveLimitsTest, Yields) {
  // Yields twice at each message and says how many were refused at once.
  const Script script{.step = [](Events events, StepOutput& out) {
    int refused = 0;
    for (const Event event : events) {
      if (event.is_completion()) {
        EXPECT_EQ(event.error().code, Code::kResourceExhausted);
        ++refused;
      } else {
        out.Yield("exact");
        out.Yield("exact");
      }
    }
    if (refused != 0) out.Done(std::to_string(refused));
  }};
  const Pid before = MustSubmit(script);
  ASSERT_TRUE(Send(before, "x").ok());
  ASSERT_TRUE(
      Eventually([&] { return runtime_->Describe(before)->yields == 2; }));
  Set([](Limits& limits) { limits.max_yields = 1; });
  ASSERT_TRUE(Send(before, "x").ok());
  EXPECT_EQ(MustAwait(before).result.bytes, "2");
  const Pid lowered = MustSubmit(script);
  ASSERT_TRUE(Send(lowered, "x").ok());
  EXPECT_EQ(MustAwait(lowered).result.bytes, "1");
  Set([](Limits& limits) { limits.max_yields = 2; });
  const Pid raised = MustSubmit(script);
  ASSERT_TRUE(Send(raised, "x").ok());
  ASSERT_TRUE(
      Eventually([&] { return runtime_->Describe(raised)->yields == 2; }));
}

TEST_F(LiveLimitsTest, ExternalYieldBytes) {
  Set([](Limits& limits) {
    limits.max_payload_bytes = 10'000;
    limits.max_external_yield_bytes = 15'000;
  });
  const std::string payload(10'000, 'x');
  const Script asks{.step = [&](Events events, StepOutput& out) {
    if (events.empty()) out.Yield("exact", payload);
    for (const Event event : events) out.Done(TextOf(event));
  }};
  const Pid waits = MustSubmit(asks);
  ASSERT_TRUE(Eventually(
      [&] { return runtime_->Stats().external_yields_waiting == 1; }));
  EXPECT_THAT(MustAwait(MustSubmit(asks)).result.bytes,
              HasSubstr("8:the external yields that wait"));
  Set([](Limits& limits) { limits.max_external_yield_bytes = 30'000; });
  MustSubmit(asks);
  ASSERT_TRUE(Eventually(
      [&] { return runtime_->Stats().external_yields_waiting == 2; }));
  EXPECT_THAT(MustAwait(MustSubmit(asks)).result.bytes, HasSubstr("8:"));
  EXPECT_EQ(runtime_->CompleteYield({waits, 1}, {kOk, {"1", ""}}),
            CompleteAnswer::kAccepted);
  EXPECT_EQ(MustAwait(waits).result.bytes, "OK:1");
}

// Holds completions back in the queue of a process that is in its step.
class CompletionBytesTest : public LiveLimitsTest {
 protected:
  static constexpr size_t kEach = 10'000;

  void SetUp() override {
    Add("late", ACTORD_HANDLER_INLINE, [&](actord::testing::Call& call) {
      deferred_.push_back(call.Defer());
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
    const Pid pid = MustSubmit(script);
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
  std::promise<void> entered_;
  std::promise<void> release_;
  int got_ = 0;
  int refused_ = 0;
};

TEST_F(CompletionBytesTest, AnAnswerAboveThemIsRefusedAndMayComeAgain) {
  LimitTo(3);
  const Pid pid = SubmitHeld("exact", 5);
  const YieldResult result{kOk, {bytes_, ""}};
  for (uint64_t tag = 1; tag <= 3; ++tag) {
    EXPECT_EQ(runtime_->CompleteYield({pid, tag}, result),
              CompleteAnswer::kAccepted);
  }
  EXPECT_EQ(runtime_->CompleteYield({pid, 4}, result),
            CompleteAnswer::kMailboxFull);
  // What is short, as every error is, always has room.
  EXPECT_EQ(runtime_->CompleteYield({pid, 5}, {kAborted, {"no", ""}}),
            CompleteAnswer::kAccepted);
  release_.set_value();
  EXPECT_TRUE(Eventually([&] {
    return runtime_->CompleteYield({pid, 4}, result) ==
           CompleteAnswer::kAccepted;
  }));
  EXPECT_EQ(MustAwait(pid).kind, EndKind::kResult);
  EXPECT_EQ(got_, 4);
  EXPECT_EQ(refused_, 1);
}

TEST_F(CompletionBytesTest, AHandlersCompletionAboveThemBecomesAnError) {
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

// What a process leaves behind is no burden of the next one in its slot.
TEST_F(CompletionBytesTest, EndWithTheirProcess) {
  LimitTo(2);
  for (int i = 0; i < 5; ++i) {
    entered_ = {};
    release_ = {};
    const Pid pid = SubmitHeld("exact", 3);
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

TEST_F(LiveLimitsTest, DefaultYieldTimeout) {
  Set([](Limits& limits) {
    limits.default_yield_timeout = absl::Milliseconds(1);
  });
  EXPECT_THAT(YieldOnce("ext.a"), HasSubstr("4:"));
  Set([](Limits& limits) {
    limits.default_yield_timeout = absl::InfiniteDuration();
  });
  EXPECT_EQ(YieldOnce("sleep", "2"), "OK:");
}

}  // namespace
}  // namespace actord::runtime
