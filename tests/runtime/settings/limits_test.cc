// Limits that change while a runtime runs.
#include "runtime/settings/limits.h"

#include <memory>
#include <string>
#include <vector>

#include "tests/runtime/settings/limits_fixture.h"

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
               .default_yield_timeout = absl::Seconds(6),
               .max_external_yield_bytes = 11,
               .answered_yield_ttl = absl::Seconds(7),
               .answered_yield_max = 8,
               .result_ttl = absl::Seconds(9),
               .result_max_bytes = 10,
               .dead_letter_max_count = 12,
               .dead_letter_max_bytes = 13,
               .failure_max_count = 20,
               .failure_max_bytes = 21,
               .max_watches = 19,
               .watch_max_events = 16,
               .watch_max_bytes = 17,
               .watch_retention = absl::Seconds(18),
               .max_steps = 14,
               .max_lifetime = absl::Seconds(15)};
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
    EXPECT_EQ(got.dead_letter_max_count, given.dead_letter_max_count);
    EXPECT_EQ(got.dead_letter_max_bytes, given.dead_letter_max_bytes);
    EXPECT_EQ(got.failure_max_count, given.failure_max_count);
    EXPECT_EQ(got.failure_max_bytes, given.failure_max_bytes);
    EXPECT_EQ(got.max_watches, given.max_watches);
    EXPECT_EQ(got.watch_max_events, given.watch_max_events);
    EXPECT_EQ(got.watch_max_bytes, given.watch_max_bytes);
    EXPECT_EQ(got.watch_retention, given.watch_retention);
    EXPECT_EQ(got.max_steps, given.max_steps);
    EXPECT_EQ(got.max_lifetime, given.max_lifetime);
  };
  limits.Set(given);
  expect_given();
  given.default_yield_timeout = given.answered_yield_ttl = given.result_ttl =
      given.max_lifetime = given.watch_retention = absl::InfiniteDuration();
  given.max_steps = 0;
  limits.Set(given);
  expect_given();
  EXPECT_GT(limits.max_steps(), uint64_t{1} << 60) << "none";
}

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
  std::destroy_at(&catalog_);
  std::construct_at(&catalog_);
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

// Nobody asks for them, and no process begins or ends.
TEST_F(LiveLimitsTest, AnIdleRuntimeForgetsItsResults) {
  const Script done{
      .step = [](Events, StepOutput& out) { out.Done("result"); }};
  Set([](Limits& limits) { limits.result_ttl = absl::Milliseconds(20); });
  const Pid first = MustSubmit(done);
  // An end is counted before its result is kept, and the PID stops being found
  // after that.
  EXPECT_TRUE(Eventually([&] { return !runtime_->Describe(first).ok(); }));
  EXPECT_TRUE(Eventually([this] {
    const RuntimeStats stats = runtime_->Stats();
    return stats.results_kept == 0 && stats.results_bytes == 0;
  }));
  // Also the results that were to be kept for longer.
  Set([](Limits& limits) { limits.result_ttl = absl::Hours(1); });
  MustSubmit(done);
  EXPECT_TRUE(
      Eventually([this] { return runtime_->Stats().results_kept == 1; }));
  Set([](Limits& limits) { limits.result_ttl = absl::Milliseconds(20); });
  EXPECT_TRUE(
      Eventually([this] { return runtime_->Stats().results_kept == 0; }));
}

TEST_F(LiveLimitsTest, PayloadBytes) {
  const std::string large(2000, 'x');
  Add("large", ACTORD_HANDLER_INLINE, [&](actord::testing::Call& call) {
    call.Reply(ACTORD_OK, large);
    return ACTORD_HANDLED;
  });
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
  EXPECT_EQ(runtime_->Stats().refused_payloads, 2u);
  EXPECT_EQ(MustAwait(MustSubmit(speaks)).kind, EndKind::kThrew);
  EXPECT_EQ(runtime_->Stats().refused_payloads, 3u);
  EXPECT_THAT(YieldOnce("large"), HasSubstr("the reply has 2000 bytes"));
  EXPECT_EQ(runtime_->Stats().refused_payloads, 4u);
  // Not for its length.
  EXPECT_FALSE(Send(pid, std::string(5000, 't')).ok());
  EXPECT_EQ(runtime_->Stats().refused_payloads, 4u);
  Set([](Limits& limits) { limits.max_payload_bytes = 2 << 20; });
  EXPECT_TRUE(Send(pid, "x", std::string(2 << 20, 'x')).ok());
  EXPECT_EQ(MustAwait(MustSubmit(speaks)).result.bytes, large);
}

TEST_F(LiveLimitsTest, LowMemoryRefusesWorkFromOutside) {
  const Pid pid = MustSubmit(idle_);
  runtime_->SetMemoryLow(true);
  EXPECT_THAT(Send(pid, "x"), Refused(kResourceExhausted, reason::kMemoryLow));
  EXPECT_THAT(Submit(SubmitRequest{"script", "", {}, {}}).status(),
              Refused(kResourceExhausted, reason::kMemoryLow));
  absl::Status called;
  runtime_->Call(pid, Message{"x", {}},
                 [&](const auto& answer) { called = answer.status(); });
  EXPECT_THAT(called, Refused(kResourceExhausted, reason::kMemoryLow));
  EXPECT_EQ(runtime_->Stats().refused_for_memory, 3u);
  // What goes on makes memory free.
  EXPECT_TRUE(runtime_->Cancel(pid, "").ok());
  EXPECT_EQ(MustAwait(pid).kind, EndKind::kCancelled);
  runtime_->SetMemoryLow(false);
  MustSubmit(idle_);
  EXPECT_EQ(runtime_->Stats().refused_for_memory, 3u);
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
  EXPECT_EQ(runtime_->Stats().refused_external, 1u);
  Set([](Limits& limits) { limits.max_external_yield_bytes = 30'000; });
  MustSubmit(asks);
  ASSERT_TRUE(Eventually(
      [&] { return runtime_->Stats().external_yields_waiting == 2; }));
  EXPECT_THAT(MustAwait(MustSubmit(asks)).result.bytes, HasSubstr("8:"));
  EXPECT_EQ(runtime_->CompleteYield({waits, 1}, {kOk, {"1", ""}}),
            CompleteAnswer::kAccepted);
  EXPECT_EQ(MustAwait(waits).result.bytes, "OK:1");
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
