// The life of a process from Submit to its end.
#include <atomic>
#include <stdexcept>

#include "tests/runtime/runtime_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;
using enum absl::StatusCode;

class ProcessLife : public RuntimeTest {};

INSTANTIATE_TEST_SUITE_P(Workers, ProcessLife, ::testing::Values(1, 2, 3, 8));

RuntimeOptions Workers(int workers) {
  RuntimeOptions options;
  options.workers = workers;
  return options;
}

TEST_P(ProcessLife, RunsInitThenStepThenCloseAndKeepsTheResult) {
  Start(Workers(GetParam()));
  std::string calls;
  const Script script{.init =
                          [&](std::string_view method) {
                            calls += "init:" + std::string(method) + " ";
                            return Status();
                          },
                      .step =
                          [&](Events events, StepOutput& out) {
                            calls +=
                                "step:" + std::to_string(events.size()) + " ";
                            out.Done({"42", "text/plain"});
                          },
                      .close = [&] { calls += "close"; }};
  const Pid pid = MustSubmit(script);
  const Outcome outcome = MustAwait(pid);
  EXPECT_EQ(outcome.kind, EndKind::kResult);
  EXPECT_EQ(outcome.result, (Payload{"42", "text/plain"}));
  EXPECT_EQ(outcome.steps, 1u);
  EXPECT_EQ(calls, "init:run step:0 close");
}

TEST_P(ProcessLife, DeliversMessagesInTheOrderOfTheirSender) {
  Start(Workers(GetParam()));
  constexpr int kMessages = 2000;
  std::vector<int> got;
  const Script script{.step = [&](Events events, StepOutput& out) {
    for (const Event event : events) {
      got.push_back(std::stoi(std::string(event.payload().bytes)));
    }
    if (got.size() == kMessages) out.Done();
  }};
  const Pid pid = MustSubmit(script);
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(Send(pid, "n", std::to_string(i)).ok());
  }
  EXPECT_EQ(MustAwait(pid).kind, EndKind::kResult);
  ASSERT_EQ(got.size(), static_cast<size_t>(kMessages));
  for (int i = 0; i < kMessages; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], i);
}

TEST_P(ProcessLife, InitialMessagesReachTheFirstStep) {
  Start(Workers(GetParam()));
  std::string got;
  const Script script{.step = [&](Events events, StepOutput& out) {
    for (const Event event : events) {
      got += std::string(event.topic()) + "=" +
             std::string(event.payload().bytes) + " ";
    }
    out.Done();
  }};
  const auto pid = Submit(SubmitRequest{"script",
                                        "",
                                        {InputOf(script), ""},
                                        {{"a", {"1", ""}}, {"b", {"2", ""}}}});
  ASSERT_TRUE(pid.ok());
  MustAwait(*pid);
  EXPECT_EQ(got, "a=1 b=2 ");
}

TEST_P(ProcessLife, ContinueRunsAgainWithoutAnEvent) {
  Start(Workers(GetParam()));
  int steps = 0;
  const Script script{.step = [&](Events events, StepOutput& out) {
    EXPECT_TRUE(events.empty());
    if (++steps == 100) {
      out.Done();
    } else {
      out.Continue();
    }
  }};
  EXPECT_EQ(MustAwait(MustSubmit(script)).steps, 100u);
}

TEST_F(ProcessLife, SubmitIsRefusedWithAReason) {
  Start();
  const Script refusing{.init = [](std::string_view) {
    return Status(Code::kInvalidArgument, "no such order");
  }};
  const auto refused = Submit(refusing);
  EXPECT_THAT(refused.status(),
              Refused(kInvalidArgument, reason::kInitRefused));
  EXPECT_EQ(FieldOf(refused.status()), "input");
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("no such order"));
  EXPECT_THAT(Submit(SubmitRequest{"nothing", "", {}, {}}).status(),
              Refused(kNotFound, reason::kUnknownProcessType));
  EXPECT_THAT(Submit(SubmitRequest{"script", "nothing", {}, {}}).status(),
              Refused(kNotFound, reason::kUnknownMethod));
  EXPECT_THAT(
      Submit(SubmitRequest{
                 "script", "", {std::string((1 << 20) + 1, 'x'), ""}, {}})
          .status(),
      Refused(kInvalidArgument, reason::kPayloadTooLarge));
  const std::string longest(size_t{1} << 20, 'x');
  for (const auto& [type, method] :
       {std::pair(longest, std::string()), {std::string("script"), longest}}) {
    const absl::Status status =
        Submit(SubmitRequest{type, method, {}, {}}).status();
    EXPECT_EQ(status.code(), kNotFound);
    EXPECT_LT(status.message().size(), 200u) << "it is not repeated";
  }
  const std::string long_name(1025, 'x');
  EXPECT_THAT(Submit(SubmitRequest{"script", "", {"", long_name}, {}}).status(),
              Refused(kInvalidArgument, reason::kInvalidField));
  EXPECT_THAT(
      Submit(SubmitRequest{"script", "", {}, {{long_name, {}}}}).status(),
      Refused(kInvalidArgument, reason::kInvalidField));
  EXPECT_EQ(runtime_->Stats().processes_live, 0u);
}

TEST_F(ProcessLife, AnExceptionInInitRefusesTheStart) {
  Start();
  bool closed = false;
  const Script script{.init = [](std::string_view) -> Status {
                        throw std::runtime_error("bad init");
                      },
                      .close = [&] { closed = true; }};
  const auto pid = Submit(script);
  EXPECT_EQ(ReasonOf(pid.status()), reason::kInitRefused);
  EXPECT_THAT(std::string(pid.status().message()), HasSubstr("bad init"));
  EXPECT_FALSE(closed);
}

TEST_F(ProcessLife, AnExceptionInStepFailsTheProcessAndClosesIt) {
  Start();
  bool closed = false;
  const Script script{
      .step = [](Events, StepOutput&) { throw std::runtime_error("oops"); },
      .close = [&] { closed = true; }};
  const Outcome outcome = MustAwait(MustSubmit(script));
  EXPECT_EQ(outcome.kind, EndKind::kThrew);
  EXPECT_THAT(outcome.message, HasSubstr("oops"));
  EXPECT_TRUE(closed);
}

TEST_F(ProcessLife, TheTextOfAnExceptionIsCut) {
  Start();
  const Outcome outcome =
      MustAwait(MustSubmit({.step = [](Events, StepOutput&) {
        throw std::runtime_error(std::string(size_t{1} << 20, 'x'));
      }}));
  EXPECT_EQ(outcome.kind, EndKind::kThrew);
  EXPECT_LT(outcome.message.size(), 4200u);
}

TEST_F(ProcessLife, AnExceptionInCloseLeavesTheResult) {
  std::atomic<bool> logged{false};
  RuntimeOptions options;
  options.log = [&](LogLevel level, std::string_view message) {
    if (level == LogLevel::kError &&
        message.find("bad close") != std::string_view::npos) {
      logged = true;
    }
  };
  Start(options);
  const Script script{.step = [](Events, StepOutput& out) { out.Done("1"); },
                      .close = [] { throw std::runtime_error("bad close"); }};
  EXPECT_EQ(MustAwait(MustSubmit(script)).result.bytes, "1");
  EXPECT_TRUE(logged);
}

TEST_F(ProcessLife, FailSaysWhy) {
  Start();
  const Script script{.step = [](Events, StepOutput& out) {
    out.Fail(Code::kOutOfRange, "too far");
  }};
  const Outcome outcome = MustAwait(MustSubmit(script));
  EXPECT_EQ(outcome.kind, EndKind::kFailed);
  EXPECT_EQ(outcome.code, kOutOfRange);
  EXPECT_EQ(outcome.message, "too far");
}

TEST_F(ProcessLife, BlockingWithoutAYieldFails) {
  Start();
  const Script script{.step = [](Events, StepOutput& out) { out.Block(); }};
  const Outcome outcome = MustAwait(MustSubmit(script));
  EXPECT_EQ(outcome.kind, EndKind::kThrew);
  EXPECT_THAT(outcome.message, HasSubstr("without an outstanding yield"));
}

TEST_F(ProcessLife, CancelEndsATypeThatDoesNotHandleIt) {
  Start();
  bool closed = false;
  const Script script{
      .step = [](Events events, StepOutput&) { EXPECT_TRUE(events.empty()); },
      .close = [&] { closed = true; }};
  const Pid pid = MustSubmit(script);
  EXPECT_TRUE(runtime_->Cancel(pid, "enough").ok());
  const Outcome outcome = MustAwait(pid);
  EXPECT_EQ(outcome.kind, EndKind::kCancelled);
  EXPECT_EQ(outcome.code, kCancelled);
  EXPECT_EQ(outcome.message, "enough");
  EXPECT_TRUE(closed);
}

TEST_F(ProcessLife, CancelIsOneEventForATypeThatHandlesIt) {
  Start();
  std::atomic<int> cancels{0};
  std::string why;
  const Script script{.step = [&](Events events, StepOutput& out) {
    for (const Event event : events) {
      if (event.is_cancel()) {
        why = std::string(event.payload().bytes);
        ++cancels;
      } else if (event.topic() == "end") {
        out.Done("after cancel");
      }
    }
  }};
  const Pid pid = MustSubmit(script, "cancellable");
  EXPECT_TRUE(runtime_->Cancel(pid, "first").ok());
  EXPECT_TRUE(runtime_->Cancel(pid, "second").ok());
  ASSERT_TRUE(Eventually([&] { return cancels == 1; }));
  EXPECT_TRUE(runtime_->Describe(pid)->cancel_requested);
  EXPECT_TRUE(Send(pid, "end").ok());
  EXPECT_EQ(MustAwait(pid).result.bytes, "after cancel");
  EXPECT_EQ(cancels, 1);
  EXPECT_EQ(why, "first");
}

TEST_F(ProcessLife, TerminateEndsAProcessThatIgnoresCancel) {
  Start();
  const Script script{.step = [](Events, StepOutput&) {}};
  const Pid pid = MustSubmit(script, "cancellable");
  EXPECT_TRUE(runtime_->Cancel(pid, "please").ok());
  EXPECT_TRUE(runtime_->Terminate(pid, "now").ok());
  const Outcome outcome = MustAwait(pid);
  EXPECT_EQ(outcome.kind, EndKind::kTerminated);
  EXPECT_EQ(outcome.message, "now");
}

TEST_F(ProcessLife, EndedAndUnknownProcessesAreToldApart) {
  Start();
  const Script script{.step = [](Events, StepOutput& out) { out.Done(); }};
  const Pid pid = MustSubmit(script);
  MustAwait(pid);
  EXPECT_THAT(Send(pid, "x"),
              Refused(kFailedPrecondition, reason::kProcessEnded));
  EXPECT_THAT(runtime_->Cancel(pid, ""),
              Refused(kFailedPrecondition, reason::kProcessEnded));
  EXPECT_THAT(runtime_->Describe(pid).status(),
              Refused(kFailedPrecondition, reason::kProcessEnded));
  Pid other = pid;
  other.slot = 12345;
  EXPECT_THAT(Send(other, "x"), Refused(kNotFound, reason::kProcessNotFound));
  EXPECT_THAT(Await(other).status(),
              Refused(kNotFound, reason::kProcessNotFound));
  other = pid;
  other.incarnation ^= 1;
  EXPECT_THAT(Send(other, "x"), Refused(kNotFound, reason::kProcessNotFound));
}

TEST_F(ProcessLife, AReusedSlotIsAnotherProcess) {
  RuntimeOptions options;
  options.max_processes = 1;
  Start(options);
  const Script ending{.step = [](Events, StepOutput& out) { out.Done("old"); }};
  const Pid old_pid = MustSubmit(ending);
  MustAwait(old_pid);
  bool got_message = false;
  const Script waiting{.step = [&](Events events, StepOutput&) {
    got_message = got_message || !events.empty();
  }};
  Pid new_pid;
  ASSERT_TRUE(Eventually([&] {
    const auto pid = Submit(waiting);
    if (pid.ok()) new_pid = *pid;
    return pid.ok();
  }));
  EXPECT_EQ(new_pid.slot, old_pid.slot);
  EXPECT_NE(new_pid.generation, old_pid.generation);
  EXPECT_THAT(Send(old_pid, "x"),
              Refused(kFailedPrecondition, reason::kProcessEnded));
  EXPECT_EQ(MustAwait(old_pid).result.bytes, "old");
  EXPECT_TRUE(runtime_->Terminate(new_pid, "").ok());
  MustAwait(new_pid);
  EXPECT_FALSE(got_message);
}

TEST_F(ProcessLife, TheLimitOfProcessesIsMetExactly) {
  RuntimeOptions options;
  options.max_processes = 3;
  Start(options);
  const Script waiting{.step = [](Events, StepOutput&) {}};
  const Pid first = MustSubmit(waiting);
  MustSubmit(waiting);
  MustSubmit(waiting);
  const auto refused = Submit(waiting);
  EXPECT_THAT(refused.status(),
              Refused(kResourceExhausted, reason::kProcessLimit));
  EXPECT_TRUE(RetryDelayOf(refused.status()).has_value());
  EXPECT_TRUE(runtime_->Terminate(first, "").ok());
  MustAwait(first);
  EXPECT_TRUE(Eventually([&] { return Submit(waiting).ok(); }));
}

// Each thread holds back some of the places that it has given up last.
TEST_P(ProcessLife, ALargeLimitOfProcessesIsMetExactly) {
  constexpr size_t kLimit = 20'000;
  RuntimeOptions options;
  options.workers = GetParam();
  options.max_processes = kLimit;
  Start(options);
  const Script ends{.step = [](Events, StepOutput& out) { out.Done(); }};
  const Script spawns{.step = [&](Events, StepOutput& out) {
    for (int i = 0; i < 1000; ++i) {
      (void)out.Spawn("script", "run", InputOf(ends));
    }
    out.Done();
  }};
  for (int i = 0; i < 16; ++i) MustSubmit(spawns);
  ASSERT_TRUE(Eventually([this] {
    const RuntimeStats stats = runtime_->Stats();
    return stats.processes_started == 16'016 && stats.processes_live == 0;
  }));
  const Script stays{.step = [](Events, StepOutput&) {}};
  // The last ended process may be about to give up its place.
  size_t live = 0;
  EXPECT_TRUE(Eventually([&] {
    while (live < kLimit && Submit(stays).ok()) ++live;
    return live == kLimit;
  })) << "after "
      << live;
  EXPECT_EQ(runtime_->Stats().processes_live, kLimit);
  EXPECT_THAT(Submit(stays).status(),
              Refused(kResourceExhausted, reason::kProcessLimit));
}

TEST_F(ProcessLife, AFullMailboxRefusesAndKeepsWhatItAccepted) {
  RuntimeOptions options;
  options.max_mailbox_messages = 10;
  Start(options);
  std::promise<void> entered;
  std::promise<void> go_on;
  int got = 0;
  const Script script{.step = [&](Events events, StepOutput& out) {
    if (events.empty()) {
      entered.set_value();
      go_on.get_future().wait();
    }
    got += static_cast<int>(events.size());
    if (got == 10) out.Done();
  }};
  const Pid pid = MustSubmit(script);
  entered.get_future().wait();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Send(pid, "x").ok());
  const absl::Status full = Send(pid, "x");
  EXPECT_THAT(full, Refused(kResourceExhausted, reason::kMailboxFull));
  EXPECT_TRUE(RetryDelayOf(full).has_value());
  go_on.set_value();
  EXPECT_EQ(MustAwait(pid).kind, EndKind::kResult);
}

}  // namespace
}  // namespace actord::runtime
