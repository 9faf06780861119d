// Processes that are coroutines, in a runtime.
#include <actord/coroutine.h>

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "tests/runtime/yields/yields_fixture.h"
#include "tests/support/script_coroutine.h"

namespace actord::runtime {
namespace {

using namespace std::chrono_literals;
using actord::Context;
using actord::OwnedPayload;
using actord::Result;
using actord::Task;
using actord::testing::ScriptCoroutine;

// Frames that are alive, by an object in each.
std::atomic<int> alive{0};
struct Alive {
  Alive() { ++alive; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
  ~Alive() { --alive; }
};

// Not inlined: std::stoi uses errno, and a compiler may keep the address of a
// thread's errno over a co_await, after which the coroutine runs on another
// thread.
[[gnu::noinline]] int Number(std::string_view text) {
  return std::stoi(std::string(text));
}

// Answers as many commands as its input says, each in a frame of its own that
// begins on one thread and often ends on another, and sums what they said.
class Summing : public actord::CoroutineProcess {
 public:
  static constexpr const char* kName = "summing";
  static constexpr Method kMethods[] = {{"run", nullptr}};

  Task<std::string> Main(Context& ctx, OwnedPayload input) {
    const Alive here;
    int sum = 0;
    for (int i = Number(input.bytes); i > 0; --i) {
      auto [a, b, message] = co_await WhenAll(
          Ask(ctx, "pooled", i), Ask(ctx, "echo", i), ctx.Receive("n"));
      sum += a + b + Number(message.payload().bytes);
    }
    co_return std::to_string(sum);
  }

 private:
  static Task<int> Ask(Context& ctx, std::string command, int n) {
    const Alive here;
    const std::string text = std::to_string(n);
    co_await ctx.Continue();
    ctx.Send(ctx.self(), "n", text);
    if (command == "echo") ctx.Send(ctx.self(), "other", text);
    const auto answer = (co_await ctx.Run(command, text)).value();
    EXPECT_EQ(answer.bytes, text);
    if (command == "echo") co_await ctx.Receive("other");
    if (command == "pooled") co_await ctx.Receive("n");
    co_return Number(answer.bytes);
  }
};

class CoroutineLife : public YieldsTest {
 protected:
  void StartCoroutines(RuntimeOptions options = {}) {
    for (const actord_process_type* type :
         {&actord::kProcessType<ScriptCoroutine>,
          &actord::kProcessType<Summing>}) {
      ASSERT_TRUE(catalog_.AddProcessType(type, "test").ok());
    }
    // {"duration_ms":N}
    Add("timer.sleep", ACTORD_HANDLER_INLINE, [this](actord::testing::Call& c) {
      const uint64_t ms = std::stoull(std::string(c.bytes().substr(15)));
      runtime_->host()->complete_after(runtime_->host(), c.Defer(),
                                       ms * 1'000'000);
      return ACTORD_DEFERRED;
    });
    StartWith(options);
  }
  void TearDown() override {
    runtime_.reset();
    ScriptCoroutine::body = nullptr;
    EXPECT_EQ(alive, 0) << "frames are left";
  }
  Pid MustSubmitBody(ScriptCoroutine::Body body) {
    ScriptCoroutine::body = std::move(body);
    return MustSubmitType(ScriptCoroutine::kName, "");
  }
  Pid MustSubmitType(std::string type, std::string input) {
    auto pid = Submit({std::move(type), "", {std::move(input), ""}, {}});
    EXPECT_TRUE(pid.ok()) << pid.status();
    return pid.value_or(Pid{});
  }
  bool EventuallyWaits(const Pid& pid) {
    return Eventually([&] {
      const auto view = runtime_->Describe(pid);
      return view.ok() && view->steps > 0;
    });
  }
};

INSTANTIATE_TEST_SUITE_P(Workers, CoroutineLife, ::testing::Values(1, 2, 3, 8));

TEST_P(CoroutineLife, GoesThroughEveryKindOfWait) {
  StartCoroutines();
  const Pid pid = MustSubmitBody([](Context& ctx) -> Task<Result<>> {
    const Alive here;
    std::string seen = (co_await ctx.Run("echo", "a")).value().bytes;
    co_await ctx.Continue();
    seen += (co_await ctx.Run("pooled", "b")).value().bytes;
    co_await ctx.Sleep(1ms);
    seen += co_await ctx.WithTimeout(ctx.Receive("never"), 1ms) ? "?" : "c";
    ctx.Send(ctx.self(), "d");
    seen += (co_await ctx.Receive()).topic();
    const auto unknown = co_await ctx.Run("no.such.command");
    seen += unknown.error().code == actord::Code::kNotFound ? "e" : "?";
    const auto late = co_await ctx.Run("ext.x", {}, {.timeout = 1ms});
    seen += late.error().code == actord::Code::kDeadlineExceeded ? "f" : "?";
    co_return seen;
  });
  EXPECT_EQ(MustAwait(pid).result.bytes, "abcdef");
}

TEST_P(CoroutineLife, FramesMayEndOnAnotherThread) {
  StartCoroutines();
  constexpr int kProcesses = 40;
  std::vector<Pid> pids;
  for (int i = 0; i < kProcesses; ++i) {
    pids.push_back(MustSubmitType(Summing::kName, "50"));
  }
  for (const Pid& pid : pids) {
    const Outcome outcome = MustAwait(pid);
    EXPECT_EQ(outcome.kind, EndKind::kResult) << outcome.message;
    EXPECT_EQ(outcome.result.bytes, std::to_string(3 * 50 * 51 / 2));
  }
}

TEST_P(CoroutineLife, CancelledCoroutineCleansUpAndEndsAsCancelled) {
  StartCoroutines();
  std::string cleaned_up;
  const Pid pid = MustSubmitBody([&](Context& ctx) -> Task<Result<>> {
    const Alive here;
    const auto waited = co_await Try(ctx.Receive());
    cleaned_up = (co_await ctx.Run("pooled", "clean")).value().bytes;
    throw actord::Failure(waited.status());
  });
  ASSERT_TRUE(EventuallyWaits(pid));
  ASSERT_TRUE(runtime_->Cancel(pid, "enough").ok());
  const Outcome outcome = MustAwait(pid);
  EXPECT_EQ(outcome.kind, EndKind::kCancelled);
  EXPECT_EQ(outcome.message, "enough");
  EXPECT_EQ(cleaned_up, "clean");
}

TEST_P(CoroutineLife, CoroutineThatCancelsItselfHasFailed) {
  StartCoroutines();
  const Pid pid = MustSubmitBody([](Context&) -> Task<Result<>> {
    co_return actord::Status(actord::Code::kCancelled, "nobody asked");
  });
  EXPECT_EQ(MustAwait(pid).kind, EndKind::kFailed);
}

TEST_P(CoroutineLife, FailedStepEndsTheCoroutineWithoutItsEffects) {
  StartCoroutines();
  std::atomic<bool> caught = false;
  const Pid other = MustSubmitBody([&](Context& ctx) -> Task<Result<>> {
    const Alive here;
    ctx.Send(ctx.self(), "never");
    try {
      (void)co_await ctx.Run("echo", std::string(size_t{2} << 20, 'x'));
    } catch (...) {
      caught = true;
    }
    co_return "";
  });
  EXPECT_EQ(MustAwait(other).kind, EndKind::kThrew);
  EXPECT_FALSE(caught);
  EXPECT_EQ(runtime_->Stats().messages_sent, 0u);
}

TEST_P(CoroutineLife, TerminateDestroysTheCoroutineWhereItStands) {
  StartCoroutines();
  const Pid pid = MustSubmitBody([](Context& ctx) -> Task<Result<>> {
    const Alive here;
    co_await WhenAny(ctx.Receive(), ctx.Sleep(1h), ctx.Run("ext.x"));
    co_return "";
  });
  ASSERT_TRUE(EventuallyWaits(pid));
  ASSERT_TRUE(runtime_->Terminate(pid, "now").ok());
  EXPECT_EQ(MustAwait(pid).kind, EndKind::kTerminated);
}

TEST_P(CoroutineLife, MessagesStayInTheMailboxWhileItWaitsForACommand) {
  RuntimeOptions options;
  options.max_mailbox_messages = 2;
  StartCoroutines(options);
  const Pid pid = MustSubmitBody([](Context& ctx) -> Task<Result<>> {
    const auto done = co_await ctx.Run("ext.x", {}, {.timeout = 1h});
    co_return std::string((co_await ctx.Receive()).topic());
  });
  ASSERT_TRUE(EventuallyWaits(pid));
  EXPECT_TRUE(Send(pid, "first").ok());
  EXPECT_TRUE(Send(pid, "second").ok());
  EXPECT_THAT(Send(pid, "third"), Refused(absl::StatusCode::kResourceExhausted,
                                          reason::kMailboxFull));
}

}  // namespace
}  // namespace actord::runtime
