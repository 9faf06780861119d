// What becomes of a yield: exactly one completion, whatever happens.
#include <actord/abi.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/runtime/runtime_fixture.h"
#include "tests/support/script_handler.h"

namespace actord::runtime {
namespace {

using actord::testing::Call;
using actord::testing::ScriptHandler;
using ::testing::HasSubstr;
using namespace std::chrono_literals;
using enum absl::StatusCode;

class Yields : public RuntimeTest {
 protected:
  void StartWith(RuntimeOptions options = {}) {
    if (options.workers == 0) options.workers = GetParam();
    options.external_commands = {"ext.*", "exact"};
    // Completes after as many milliseconds as its payload says.
    Add("sleep", ACTORD_HANDLER_INLINE, [this](Call& call) {
      const uint64_t ms = std::stoull(std::string(call.bytes()));
      runtime_->host()->complete_after(runtime_->host(), call.Defer(),
                                       ms * 1'000'000);
      return ACTORD_DEFERRED;
    });
    Add("echo", ACTORD_HANDLER_INLINE, [](Call& call) {
      call.Reply(ACTORD_OK, "draft");
      call.Reply(ACTORD_OK, call.bytes());
      return ACTORD_HANDLED;
    });
    Add("pooled", ACTORD_HANDLER_POOLED, [](Call& call) {
      call.Reply(ACTORD_OK, call.bytes());
      return ACTORD_HANDLED;
    });
    Start(options);
  }

  void Add(std::string command, uint32_t mode, ScriptHandler::Function handle) {
    handlers_.push_back(std::make_unique<ScriptHandler>(
        std::move(command), mode, std::move(handle)));
    ASSERT_TRUE(catalog_
                    .AddCommand(handlers_.back()->descriptor(),
                                handlers_.back().get(), "test")
                    .ok());
  }

  // How one yield ended: "OK:payload", or the code's number and the text.
  static std::string TextOf(const Event& event) {
    const std::string text(event.payload().bytes);
    if (!event.error()) return "OK:" + text;
    return std::to_string(static_cast<int>(event.error().code)) + ":" + text;
  }

  // Runs a process that yields once and returns how that ended.
  std::string YieldOnce(const std::string& command,
                        const std::string& payload = "",
                        YieldOptions options = {}) {
    const Script script{.step = [&](Events events, StepOutput& out) {
      if (events.empty()) {
        out.Yield(command, payload, options);
        out.Block();
        return;
      }
      EXPECT_EQ(events.size(), 1u);
      EXPECT_TRUE(events[0].is_completion());
      out.Done(TextOf(events[0]));
    }};
    return MustAwait(MustSubmit(script)).result.bytes;
  }

  std::vector<std::unique_ptr<ScriptHandler>> handlers_;
};

INSTANTIATE_TEST_SUITE_P(Workers, Yields, ::testing::Values(1, 2, 3, 8));

TEST_P(Yields, EndAsTheirHandlersSay) {
  Add("empty", ACTORD_HANDLER_INLINE, [](Call&) { return ACTORD_HANDLED; });
  Add("fail", ACTORD_HANDLER_INLINE, [](Call& call) {
    call.Reply(ACTORD_OUT_OF_RANGE, "too far");
    return ACTORD_HANDLED;
  });
  Add("throw", ACTORD_HANDLER_INLINE,
      [](Call&) -> int32_t { throw std::runtime_error("oops"); });
  Add("pooled.throw", ACTORD_HANDLER_POOLED, [](Call& call) -> int32_t {
    call.Reply(ACTORD_OK, "not this");
    throw 7;
  });
  Add("nonsense", ACTORD_HANDLER_INLINE, [](Call&) { return 42; });
  Add("never.deferred", ACTORD_HANDLER_INLINE,
      [](Call&) { return ACTORD_DEFERRED; });
  Add("pooled.never.deferred", ACTORD_HANDLER_POOLED,
      [](Call&) { return ACTORD_DEFERRED; });
  Add("deferred.then.replied", ACTORD_HANDLER_INLINE, [](Call& call) {
    EXPECT_NE(call.Defer(), 0u);
    EXPECT_EQ(call.Defer(), call.Defer());
    call.Reply(ACTORD_OK, "after all");
    return ACTORD_HANDLED;
  });
  Add("deferred.then.thrown", ACTORD_HANDLER_INLINE, [](Call& call) -> int32_t {
    call.Defer();
    throw std::runtime_error("late oops");
  });
  Add("completed.at.once", ACTORD_HANDLER_INLINE, [this](Call& call) {
    const actord_completion completion = call.Defer();
    const actord_payload payload{ToAbi(std::string_view("quick")), {}};
    const actord_host* host = runtime_->host();
    EXPECT_EQ(host->complete(host, completion, ACTORD_OK, &payload), ACTORD_OK);
    EXPECT_EQ(host->complete(host, completion, ACTORD_OK, &payload),
              ACTORD_FAILED_PRECONDITION);
    EXPECT_EQ(host->complete_after(host, completion, 1),
              ACTORD_FAILED_PRECONDITION);
    // The reply comes too late.
    call.Reply(ACTORD_OK, "slow");
    return ACTORD_HANDLED;
  });
  Add("pooled.deferred", ACTORD_HANDLER_POOLED, [this](Call& call) {
    runtime_->host()->complete(runtime_->host(), call.Defer(), ACTORD_ABORTED,
                               nullptr);
    return ACTORD_DEFERRED;
  });
  StartWith();
  EXPECT_EQ(YieldOnce("echo", "hello"), "OK:hello");
  EXPECT_EQ(YieldOnce("pooled", "hello"), "OK:hello");
  EXPECT_EQ(YieldOnce("empty"), "OK:");
  EXPECT_EQ(YieldOnce("fail"), "11:too far");
  EXPECT_EQ(YieldOnce("throw"), "13:the handler of throw threw: oops");
  EXPECT_THAT(YieldOnce("pooled.throw"), HasSubstr("13:"));
  EXPECT_THAT(YieldOnce("nonsense"), HasSubstr("13:"));
  EXPECT_THAT(YieldOnce("nonsense"), HasSubstr("42"));
  EXPECT_THAT(YieldOnce("never.deferred"), HasSubstr("13:"));
  EXPECT_THAT(YieldOnce("pooled.never.deferred"), HasSubstr("13:"));
  EXPECT_EQ(YieldOnce("deferred.then.replied"), "OK:after all");
  EXPECT_THAT(YieldOnce("deferred.then.thrown"), HasSubstr("late oops"));
  EXPECT_EQ(YieldOnce("completed.at.once"), "OK:quick");
  EXPECT_EQ(YieldOnce("pooled.deferred"), "10:");
  EXPECT_THAT(YieldOnce("unknown"), HasSubstr("5:no handler"));
  const RuntimeStats stats = runtime_->Stats();
  EXPECT_EQ(stats.yields, stats.completions);
}

TEST_P(Yields, ASleepIsAResultAndATimeoutAnError) {
  StartWith();
  EXPECT_EQ(YieldOnce("sleep", "1"), "OK:");
  EXPECT_EQ(YieldOnce("sleep", "0"), "OK:");
  EXPECT_EQ(YieldOnce("sleep", "1", {.timeout = 1h}), "OK:");
  EXPECT_THAT(YieldOnce("sleep", "3600000", {.timeout = 1ms}), HasSubstr("4:"));
  EXPECT_THAT(YieldOnce("ext.a", "", {.timeout = 1ms}), HasSubstr("4:"));
  EXPECT_THAT(YieldOnce("ext.a", "", {.timeout = -1ms}), HasSubstr("4:"));
}

TEST_P(Yields, TheDefaultTimeoutCountsWhenTheYieldHasNone) {
  RuntimeOptions options;
  options.default_yield_timeout = absl::Milliseconds(1);
  StartWith(options);
  EXPECT_THAT(YieldOnce("ext.a"), HasSubstr("4:"));
  EXPECT_EQ(YieldOnce("sleep", "2", {.timeout = 1h}), "OK:");
}

TEST_P(Yields, AnExternalYieldIsListedAnsweredOnceAndTheTruthIsTold) {
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

TEST_P(Yields, AnExternalYieldOfAnEndedProcessHasExpired) {
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
TEST_P(Yields, ABlockedProcessSeesItsCompletionFirstAndThenItsMessages) {
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

TEST_P(Yields, AnIdleProcessIsWokenByMessagesWhileItsYieldIsOut) {
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

TEST_P(Yields, ACancelWakesABlockedProcess) {
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

// More completions than one step may be given: all arrive, each once.
TEST_P(Yields, ThousandsAtOnceArriveOnceEach) {
  RuntimeOptions options;
  options.max_yields = 16'000;
  StartWith(options);
  std::map<Tag, int> seen;
  constexpr size_t kEach = 1000;
  const char* const commands[] = {"sleep", "echo", "pooled", "unknown"};
  const Script script{.step = [&](Events events, StepOutput& out) {
    if (seen.empty()) {
      for (size_t i = 0; i < kEach; ++i) {
        for (const char* command : commands) {
          const Tag tag = out.Yield(command, std::to_string(i % 3));
          EXPECT_TRUE(seen.emplace(tag, 0).second);
        }
      }
    }
    for (const Event event : events) {
      ASSERT_TRUE(event.is_completion());
      ++seen[event.tag()];
    }
    if (std::all_of(seen.begin(), seen.end(),
                    [](const auto& one) { return one.second == 1; })) {
      out.Done();
    } else {
      out.Block();
    }
  }};
  EXPECT_EQ(MustAwait(MustSubmit(script)).kind, EndKind::kResult);
  EXPECT_EQ(seen.size(), 4 * kEach);
}

TEST_P(Yields, TheLimitOfYieldsIsMetExactly) {
  RuntimeOptions options;
  options.max_yields = 3;
  StartWith(options);
  std::string got;
  const Script script{.step = [&](Events events, StepOutput& out) {
    if (events.empty()) {
      for (int i = 0; i < 5; ++i) out.Yield("exact");
      return;
    }
    for (const Event event : events) {
      if (!event.is_completion()) continue;
      got += std::to_string(event.tag());
      EXPECT_EQ(event.error().code, Code::kResourceExhausted);
    }
    if (events[0].is_message()) out.Done(got);
  }};
  const Pid pid = MustSubmit(script);
  ASSERT_TRUE(Eventually([&] {
    const auto info = runtime_->Describe(pid);
    return info.ok() && info->yields == 3 && info->steps == 2;
  }));
  ASSERT_TRUE(Send(pid, "end").ok());
  EXPECT_EQ(MustAwait(pid).result.bytes, "45");
}

TEST_P(Yields, AReplyAboveTheLimitIsAnErrorThatSaysSo) {
  RuntimeOptions options;
  options.max_payload_bytes = 1000;
  Add("large", ACTORD_HANDLER_INLINE, [](Call& call) {
    call.Reply(ACTORD_OK, std::string(1001, 'x'));
    return ACTORD_HANDLED;
  });
  Add("large.late", ACTORD_HANDLER_INLINE, [this](Call& call) {
    const std::string bytes(1001, 'x');
    const actord_payload payload{ToAbi(bytes), {}};
    EXPECT_EQ(runtime_->host()->complete(runtime_->host(), call.Defer(),
                                         ACTORD_OK, &payload),
              ACTORD_INVALID_ARGUMENT);
    return ACTORD_DEFERRED;
  });
  StartWith(options);
  EXPECT_THAT(YieldOnce("large"), HasSubstr("3:the reply has 1001 bytes"));
  EXPECT_THAT(YieldOnce("large.late"),
              HasSubstr("3:the completion has 1001 bytes"));
}

// A result, a duplicate, a timeout and a cancel race for the same yield.
TEST_P(Yields, RacesForOneYieldHaveOneWinner) {
  std::atomic<actord_completion> completion{0};
  Add("race", ACTORD_HANDLER_INLINE, [&](Call& call) {
    completion = call.Defer();
    return ACTORD_DEFERRED;
  });
  StartWith();
  constexpr int kRounds = 300;
  std::atomic<int> round{0};
  std::atomic<bool> done{false};
  std::atomic<int> won{0};
  std::vector<std::thread> racers;
  for (int i = 0; i < 2; ++i) {
    racers.emplace_back([&] {
      actord_completion last = 0;
      while (!done) {
        const actord_completion now = completion;
        if (now == last) continue;
        last = now;
        if (runtime_->host()->complete(runtime_->host(), now, ACTORD_OK,
                                       nullptr) == ACTORD_OK) {
          ++won;
        }
      }
    });
  }
  int results = 0;
  int timeouts = 0;
  Tag expected = 0;
  const Script script{.step = [&](Events events, StepOutput& out) {
    for (const Event event : events) {
      EXPECT_EQ(event.tag(), expected);
      (event.error() ? timeouts : results) += 1;
    }
    EXPECT_LE(events.size(), 1u);
    if (++round > kRounds) {
      out.Done();
      return;
    }
    expected = out.Yield("race", "",
                         {.timeout = std::chrono::microseconds(round % 150)});
    out.Block();
  }};
  const Pid pid = MustSubmit(script);
  MustAwait(pid);
  done = true;
  for (std::thread& racer : racers) racer.join();
  EXPECT_EQ(results + timeouts, kRounds);
  EXPECT_EQ(won, results);
}

}  // namespace
}  // namespace actord::runtime
