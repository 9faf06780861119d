#include <actord/coroutine.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/handlers/sdk/coroutine_fixture.h"

namespace actord {
namespace {

TEST_F(CoroutineTest, EndsWithItsValue) {
  EXPECT_EQ(Start([](Context&) -> Task<Result<>> {
              co_return OwnedPayload::Text("value");
            }),
            ACTORD_STEP_DONE);
  EXPECT_EQ(process().result, OwnedPayload::Text("value"));
}

TEST_F(CoroutineTest, ReturnedErrorFails) {
  EXPECT_EQ(Start([](Context&) -> Task<Result<>> {
              co_return Status(Code::kAborted, "no");
            }),
            ACTORD_STEP_FAIL);
  EXPECT_EQ(process().failure, Code::kAborted);
  EXPECT_EQ(process().failure_text, "no");
}

TEST_F(CoroutineTest, ThrownFailureFailsWithItsCode) {
  EXPECT_EQ(Start([](Context& ctx) -> Task<Result<>> {
              co_return (co_await ctx.Run("charge")).value();
            }),
            ACTORD_STEP_BLOCK);
  EXPECT_EQ(Complete(TheTag(), "declined", Code::kPermissionDenied),
            ACTORD_STEP_FAIL);
  EXPECT_EQ(process().failure, Code::kPermissionDenied);
  EXPECT_EQ(process().failure_text, "declined");
}

TEST_F(CoroutineTest, OtherExceptionIsToldFromFailure) {
  EXPECT_EQ(Start([](Context& ctx) -> Task<Result<>> {
              co_await ctx.Receive();
              throw std::runtime_error("boom");
            }),
            ACTORD_STEP_IDLE);
  EXPECT_EQ(Message("any"), ACTORD_STEP_THREW);
  EXPECT_EQ(process().failure_text, "Step threw: boom");
}

// The supported forms of Main.
class Bare : public CoroutineProcess {
 public:
  static constexpr const char* kName = "bare";
  static constexpr Method kMethods[] = {{"run", nullptr}};
  Status Init(std::string_view, const Payload& input) {
    if (input.empty()) return {Code::kInvalidArgument, "no input"};
    input_ = input.bytes;
    return {};
  }
  // noexcept: a Main may promise it.
  Task<std::string> Main(Context&) noexcept { co_return input_; }

 private:
  std::string input_;
};

class WithInput : public CoroutineProcess {
 public:
  static constexpr const char* kName = "with_input";
  static constexpr Method kMethods[] = {{"run", nullptr}};
  Task<> Main(Context& ctx, OwnedPayload input) {
    co_await ctx.Receive();
    ctx.Send(ctx.self(), "input", input);
  }
};

class WithMethod : public CoroutineProcess {
 public:
  static constexpr const char* kName = "with_method";
  static constexpr Method kMethods[] = {{"run", nullptr}, {"other", nullptr}};
  Task<OwnedPayload> Main(Context&, std::string_view method,
                          OwnedPayload input) {
    co_return std::string(method) + " " + input.bytes;
  }
};

TEST_F(CoroutineTest, OwnInitMayRefuseBeforeMainIsMade) {
  FakeProcess refused(kProcessType<Bare>);
  EXPECT_EQ(refused.Init(), ACTORD_INVALID_ARGUMENT);
  EXPECT_EQ(refused.failure_text, "no input");
  FakeProcess bare(kProcessType<Bare>);
  ASSERT_EQ(bare.Init("run", "x"), ACTORD_OK);
  EXPECT_EQ(bare.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(bare.result.bytes, "x");
}

TEST_F(CoroutineTest, InputOutlivesTheCallThatBroughtIt) {
  FakeProcess process(kProcessType<WithInput>, MakePid(3));
  {
    const std::string input(1000, 'a');
    ASSERT_EQ(process.Init("run", Payload::Binary(input)), ACTORD_OK);
  }
  EXPECT_EQ(process.Step(), ACTORD_STEP_IDLE);
  process.Message("any");
  EXPECT_EQ(process.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(process.result, OwnedPayload());
  ASSERT_EQ(process.sent.size(), 1u);
  EXPECT_EQ(process.sent[0].to, MakePid(3));
  EXPECT_EQ(process.sent[0].payload,
            OwnedPayload::Binary(std::string(1000, 'a')));
}

TEST_F(CoroutineTest, MainSeesItsMethod) {
  FakeProcess process(kProcessType<WithMethod>);
  ASSERT_EQ(process.Init("other", "in"), ACTORD_OK);
  EXPECT_EQ(process.Step(), ACTORD_STEP_DONE);
  EXPECT_EQ(process.result.bytes, "other in");
}

TEST_F(CoroutineTest, ReceivesInOrderOfArrival) {
  Start([this](Context& ctx) -> Task<Result<>> {
    while (true) {
      const actord::Message message = co_await ctx.Receive();
      trace_.emplace_back(message.topic());
      if (message.topic() == "run") (co_await ctx.Run("work")).value();
    }
  });
  process().Message("a");
  process().Message("run");
  process().Message("b");
  EXPECT_EQ(Message("c"), ACTORD_STEP_BLOCK)
      << "the rest waits for the command";
  EXPECT_THAT(trace_, ElementsAre("a", "run"));
  process().Complete(TheTag());
  EXPECT_EQ(Message("d"), ACTORD_STEP_IDLE);
  EXPECT_THAT(trace_, ElementsAre("a", "run", "b", "c", "d"));
}

TEST_F(CoroutineTest, MessageOwnsWhatItShows) {
  const std::string large(500, 'x');
  Start([&large](Context& ctx) -> Task<Result<>> {
    for (int i = 0; i < 2; ++i) {
      const actord::Message first = co_await ctx.Receive();
      actord::Message second = co_await ctx.Receive();
      const actord::Message moved = std::move(second);
      EXPECT_EQ(first.topic(), "topic");
      EXPECT_EQ(first.from(), MakePid(8));
      EXPECT_EQ(first.payload().bytes, "small");
      EXPECT_EQ(first.payload().content_type, "text/plain");
      EXPECT_EQ(moved.payload().bytes, large);
      EXPECT_EQ(moved.payload().content_type, "text/plain");
    }
    co_return "";
  });
  for (int i = 0; i < 2; ++i) {
    process().Message("topic", Payload::Text("small"), MakePid(8));
    EXPECT_EQ(Step(), ACTORD_STEP_IDLE);
    process().Message("", large);
    if (i == 0) {
      EXPECT_EQ(Step(), ACTORD_STEP_IDLE);
    }
  }
  EXPECT_EQ(Step(), ACTORD_STEP_DONE);
}

TEST_F(CoroutineTest, SelectiveReceiveLeavesTheOthersInOrder) {
  Start([this](Context& ctx) -> Task<Result<>> {
    co_await ctx.Receive("go");
    while (true) trace_.emplace_back((co_await ctx.Receive()).topic());
  });
  process().Message("a");
  EXPECT_EQ(Message("b"), ACTORD_STEP_IDLE);
  process().Message("c");
  process().Message("go");
  EXPECT_EQ(Message("d"), ACTORD_STEP_IDLE);
  EXPECT_THAT(trace_, ElementsAre("a", "b", "c", "d"));
}

TEST_F(CoroutineTest, SelectiveReceiveTakesFromTheMiddleAndTheEndOfTheQueue) {
  Start([this](Context& ctx) -> Task<Result<>> {
    co_await ctx.Receive("go");
    for (const char* topic : {"b", "c", "a"}) {
      trace_.emplace_back((co_await ctx.Receive(topic)).topic());
    }
    // The queue is intact: a later message is found.
    co_await ctx.Receive("go");
    trace_.emplace_back((co_await ctx.Receive()).topic());
    co_return "";
  });
  process().Message("a");
  process().Message("b");
  process().Message("c");
  EXPECT_EQ(Message("go"), ACTORD_STEP_IDLE);
  EXPECT_THAT(trace_, ElementsAre("b", "c", "a"));
  process().Message("d");
  EXPECT_EQ(Message("go"), ACTORD_STEP_DONE);
  EXPECT_EQ(trace_.back(), "d");
}

TEST_F(CoroutineTest, TooManyQueuedMessagesFail) {
  const auto wait = [](Context& ctx) -> Task<Result<>> {
    co_await ctx.Receive("go");
    co_return "";
  };
  Start(wait);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Message("other"), ACTORD_STEP_IDLE);
  EXPECT_EQ(Message("other"), ACTORD_STEP_FAIL);
  EXPECT_EQ(process().failure, Code::kResourceExhausted);

  Start(wait);
  EXPECT_EQ(Message("other", std::string(985, 'x')), ACTORD_STEP_IDLE);
  EXPECT_EQ(Message("t"), ACTORD_STEP_FAIL) << "above 1,000 bytes";
}

TEST_F(CoroutineTest, ReceivedMessagesDoNotCountAsQueued) {
  Start([](Context& ctx) -> Task<Result<>> {
    while (true) {
      co_await ctx.Receive("go");
      co_await ctx.Receive("a");
    }
  });
  EXPECT_EQ(Message("stays"), ACTORD_STEP_IDLE);
  for (int i = 0; i < 10; ++i) {
    process().Message("a", std::string(400, 'x'));
    EXPECT_EQ(Message("go"), ACTORD_STEP_IDLE);
  }
}

TEST_F(CoroutineTest, LongestWaitingReceiveGetsTheMessage) {
  const auto receive = [this](Context& ctx, std::string first) -> Task<> {
    if (!first.empty()) co_await ctx.Receive(first);
    co_await ctx.Receive();
    trace_.push_back("after " + first);
  };
  Start([&](Context& ctx) -> Task<Result<>> {
    co_await WhenAll(receive(ctx, "x"), receive(ctx, ""));
    co_return "";
  });
  process().Message("y");
  EXPECT_EQ(Message("x"), ACTORD_STEP_IDLE);
  EXPECT_THAT(trace_, ElementsAre("after "));
  trace_.clear();

  Start([&](Context& ctx) -> Task<Result<>> {
    co_await WhenAll(receive(ctx, "x"), ctx.Receive("y"));
    co_return "";
  });
  process().Message("x");
  EXPECT_EQ(Message("y"), ACTORD_STEP_IDLE);
  EXPECT_TRUE(trace_.empty());
}

TEST_F(CoroutineTest, RunHandsOutACommandAndGetsItsResult) {
  Start([](Context& ctx) -> Task<Result<>> {
    std::string payload(100, 'p');
    auto run = ctx.Run("work", payload, {.timeout = 5s});
    // The command has its own copy.
    payload.assign(100, 'q');
    co_return co_await std::move(run);
  });
  ASSERT_EQ(process().yields.size(), 1u);
  EXPECT_EQ(process().yields[0].command, "work");
  EXPECT_EQ(process().yields[0].payload.bytes, std::string(100, 'p'));
  EXPECT_EQ(process().yields[0].timeout_ns, 5'000'000'000u);
  EXPECT_EQ(Complete(TheTag(), Payload::Text("done")), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result, (OwnedPayload{"done", "text/plain"}));
}

TEST_F(CoroutineTest, RunTakesBuiltInCommandsAndGivesErrors) {
  Start([](Context& ctx) -> Task<Result<>> {
    const auto read = co_await ctx.Run(commands::ReadFile("a"));
    EXPECT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, Code::kNotFound);
    co_return std::string(read.error().message);
  });
  EXPECT_EQ(TheCommand(), "file.read");
  EXPECT_EQ(Complete(TheTag(), "no a", Code::kNotFound), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "no a");
}

TEST_F(CoroutineTest, CompletionThatNobodyAwaitsIsDropped) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_return co_await ctx.Run("work");
  });
  EXPECT_EQ(Complete(TheTag() + 100, "another"), ACTORD_STEP_BLOCK);
}

TEST_F(CoroutineTest, EventOfAnUnknownTypeIsIgnored) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_return (co_await ctx.Receive()).payload();
  });
  process().UnknownEvent();
  EXPECT_EQ(Step(), ACTORD_STEP_IDLE);
  EXPECT_EQ(Message("any", "known"), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "known");
}

TEST_F(CoroutineTest, SpawnsAndLooksAround) {
  Start([](Context& ctx) -> Task<Result<>> {
    const Pid child = ctx.Spawn("echo", "run", "in", {.priority = 20});
    ctx.Send(child, "hello");
    EXPECT_EQ(ctx.random(), 42u);
    EXPECT_EQ(ctx.now().time_since_epoch(), 1'700'000'000s);
    EXPECT_EQ(ctx.ParsePid(ctx.FormatPid(child)), child);
    EXPECT_TRUE(ctx.parent().empty());
    co_return ctx.FormatPid(ctx.self());
  });
  ASSERT_EQ(process().spawned.size(), 1u);
  EXPECT_EQ(process().spawned[0].type, "echo");
  EXPECT_EQ(process().spawned[0].priority, 20u);
  ASSERT_EQ(process().sent.size(), 1u);
  EXPECT_EQ(process().sent[0].to, process().spawned[0].pid);
  EXPECT_EQ(process().result.bytes, "pid-1");
}

TEST_F(CoroutineTest, ContinueGoesOnInTheNextStep) {
  EXPECT_EQ(Start([this](Context& ctx) -> Task<Result<>> {
              trace_.emplace_back("one");
              co_await ctx.Continue();
              trace_.emplace_back("two");
              co_await ctx.Continue();
              co_return "";
            }),
            ACTORD_STEP_CONTINUE);
  EXPECT_THAT(trace_, ElementsAre("one"));
  EXPECT_EQ(Step(), ACTORD_STEP_CONTINUE);
  EXPECT_THAT(trace_, ElementsAre("one", "two"));
  EXPECT_EQ(Step(), ACTORD_STEP_DONE);
}

TEST_F(CoroutineTest, TerminatedCoroutineRunsOnlyItsDestructors) {
  const auto nested = [this](Context& ctx) -> Task<> {
    const Destroyed inner(trace_, "inner");
    try {
      co_await ctx.Sleep(1h);
    } catch (...) {
      trace_.emplace_back("caught");
    }
  };
  Start([&](Context& ctx) -> Task<Result<>> {
    const Destroyed outer(trace_, "outer");
    struct Effects {
      Context& ctx;
      ~Effects() {
        ctx.Send(MakePid(9), "late");
        EXPECT_TRUE(ctx.Spawn("echo").empty());
        EXPECT_TRUE(ctx.self().empty());
      }
    } effects{ctx};
    co_await nested(ctx);
    co_return "";
  });
  process().Close();
  EXPECT_THAT(trace_, ElementsAre("~inner", "~outer"));
  EXPECT_TRUE(process().sent.empty());
}

// Records the order in which its parts run.
class Parts : public CoroutineProcess {
 public:
  static constexpr const char* kName = "parts";
  static constexpr Method kMethods[] = {{"run", nullptr}};
  static inline std::vector<std::string> trace;

  Task<> Main(Context& ctx) {
    const Destroyed frame(trace, "frame");
    co_await ctx.Receive();
  }
  void Close() { trace.emplace_back("close"); }

 private:
  Destroyed member_{trace, "member"};
};

TEST_F(CoroutineTest, FramesGoBeforeCloseAndMembers) {
  Parts::trace.clear();
  {
    FakeProcess process(kProcessType<Parts>);
    ASSERT_EQ(process.Init(), ACTORD_OK);
    EXPECT_EQ(process.Step(), ACTORD_STEP_IDLE);
  }
  EXPECT_THAT(Parts::trace, ElementsAre("~frame", "close", "~member"));
}

TEST_F(CoroutineTest, TaskThatIsNeverAwaitedDoesNotRun) {
  Start([this](Context&) -> Task<Result<>> {
    const auto never = [this]() -> Task<> {
      trace_.emplace_back("ran");
      co_return;
    };
    { const Task<> task = never(); }
    co_return "";
  });
  EXPECT_THAT(trace_, ElementsAre());
}

}  // namespace
}  // namespace actord
