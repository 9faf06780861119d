// The ends of a yield: exactly one completion in every case.
#include <actord/abi.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/runtime/yields/yields_fixture.h"

namespace actord::runtime {
namespace {

using actord::testing::Call;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

using Yields = YieldsTest;

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
  Add("reply.then.throw", ACTORD_HANDLER_INLINE, [](Call& call) -> int32_t {
    call.Reply(ACTORD_OK, "not this");
    throw std::runtime_error("oops");
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
  EXPECT_EQ(YieldOnce("reply.then.throw"),
            "13:the handler of reply.then.throw threw: oops");
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

// Replies and commands that fit into a line of their envelope, and longer ones.
TEST_P(Yields, RepliesOfAnySizeAnswerCommandsOfAnySize) {
  const std::string text(80, 'r');
  Add("size", ACTORD_HANDLER_INLINE, [&](Call& call) {
    const size_t size = std::stoull(std::string(call.bytes()));
    call.Reply(ACTORD_OK, text);
    call.Reply(ACTORD_OK, text.substr(0, size));
    return ACTORD_HANDLED;
  });
  Add("longer", ACTORD_HANDLER_INLINE, [&](Call& call) {
    call.Reply(ACTORD_OK, "");
    call.Reply(ACTORD_OUT_OF_RANGE, std::string(call.bytes()) + text);
    return ACTORD_HANDLED;
  });
  Add("count", ACTORD_HANDLER_INLINE, [&](Call& call) {
    call.Reply(ACTORD_OK, std::to_string(call.bytes().size()));
    return ACTORD_HANDLED;
  });
  Add("typed", ACTORD_HANDLER_INLINE, [&](Call& call) {
    call.Reply(ACTORD_OK, call.bytes(), "text/plain");
    return ACTORD_HANDLED;
  });
  StartWith();
  for (size_t size = 0; size <= text.size(); ++size) {
    std::string bytes(size, '.');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>('!' + i);
    EXPECT_EQ(YieldOnce("echo", bytes), "OK:" + bytes);
    EXPECT_EQ(YieldOnce("size", std::to_string(size)),
              "OK:" + text.substr(0, size));
    EXPECT_EQ(YieldOnce("longer", bytes), "11:" + bytes + text);
    EXPECT_EQ(YieldOnce("typed", bytes), "OK:" + bytes + " (text/plain)");
  }
  // The buffer of such a command is not of the pool.
  EXPECT_EQ(YieldOnce("count", std::string(2000, 'c')), "OK:2000");
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

TEST_P(Yields, MoreThanTheBlockingPoolTakesAreRefused) {
  std::promise<void> open;
  const std::shared_future<void> opened(open.get_future());
  Add("slow", ACTORD_HANDLER_POOLED, [opened](Call&) {
    opened.wait();
    return ACTORD_HANDLED;
  });
  RuntimeOptions options;
  options.blocking_threads = 1;
  options.blocking_queue = 2;
  StartWith(options);
  size_t refused = 0;
  size_t done = 0;
  bool opening = false;
  const Script script{.step = [&](Events events, StepOutput& out) {
    if (events.empty()) {
      for (int i = 0; i < 10; ++i) out.Yield("slow");
    }
    for (const Event event : events) {
      (event.error().code == Code::kResourceExhausted ? refused : done) += 1;
    }
    // One runs, or is about to, and two wait.
    if (refused >= 7 && !std::exchange(opening, true)) open.set_value();
    if (refused + done == 10) {
      out.Done();
    } else {
      out.Block();
    }
  }};
  EXPECT_EQ(MustAwait(MustSubmit(script)).kind, EndKind::kResult);
  EXPECT_GE(done, 2u);
  EXPECT_LE(done, 3u);
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
        if (now == last) {
          std::this_thread::yield();
          continue;
        }
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
