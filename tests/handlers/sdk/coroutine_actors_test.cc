// Coroutines and other processes: calls, exits, delayed messages.
#include <actord/coroutine.h>

#include <string>

#include "tests/handlers/sdk/coroutine_fixture.h"

namespace actord {
namespace {

using ::testing::IsEmpty;

class ActorsTest : public CoroutineTest {
 protected:
  void PassAll(Duration duration) {
    Pass(duration);
    process().monotonic_ns += static_cast<uint64_t>(duration.count());
  }
  int32_t Exit(Tag monitor, ExitReason reason, Payload payload = {},
               Code code = Code::kOk) {
    process().Exit(MakePid(9), monitor, reason, payload, code);
    return Step();
  }
};

TEST_F(CoroutineTest, ContinueAsHandsOnWhatNobodyHasReceived) {
  EXPECT_EQ(Start([](Context& ctx) -> Task<Result<>> {
              co_await ctx.Receive("go");
              ctx.ContinueAs("not this one");
              ctx.ContinueAs("input", "other");
              co_return OwnedPayload();
            }),
            ACTORD_STEP_IDLE);
  process().Message("before", "1");
  process().Message("go");
  process().Exit(MakePid(7), 3, ExitReason::kDone, "exit");
  process().Message("behind", "2");
  EXPECT_EQ(Step(), ACTORD_STEP_CONTINUE_AS);
  ASSERT_EQ(process().continued.size(), 1u);
  EXPECT_EQ(process().continued[0].input.bytes, "input");
  EXPECT_EQ(process().continued[0].method, "other");
  EXPECT_THAT(process().continued[0].unseen,
              ElementsAre("before1", "behind2", "exit"));
}

TEST_F(CoroutineTest, ErrorGoesBeforeContinueAs) {
  EXPECT_EQ(Start([](Context& ctx) -> Task<Result<>> {
              ctx.ContinueAs("input");
              co_return Status(Code::kAborted, "no");
            }),
            ACTORD_STEP_FAIL);
  EXPECT_TRUE(process().continued.empty());
}

TEST_F(ActorsTest, ACallGivesTheReply) {
  EXPECT_EQ(Start([](Context& ctx) -> Task<Result<>> {
              co_return co_await ctx.Call(MakePid(9), "ask", "question",
                                          {.timeout = 5s});
            }),
            ACTORD_STEP_BLOCK);
  ASSERT_EQ(process().calls.size(), 1u);
  const FakeProcess::Called call = process().calls[0];
  EXPECT_EQ(call.to, MakePid(9));
  EXPECT_EQ(call.topic, "ask");
  EXPECT_EQ(call.payload.bytes, "question");
  EXPECT_EQ(call.timeout_ns, 5'000'000'000u);
  EXPECT_EQ(Complete(call.tag, "answer"), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "answer");
}

TEST_F(ActorsTest, ACallOfANameAndItsError) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_return co_await ctx.Call("desk", "ask");
  });
  ASSERT_EQ(process().calls.size(), 1u);
  EXPECT_TRUE(process().calls[0].to.empty());
  EXPECT_EQ(process().calls[0].name, "desk");
  EXPECT_EQ(Complete(process().calls[0].tag, "nobody", Code::kNotFound),
            ACTORD_STEP_FAIL);
  EXPECT_EQ(process().failure, Code::kNotFound);
}

TEST_F(ActorsTest, AMessageIsAnsweredNowOrLater) {
  Start([](Context& ctx) -> Task<Result<>> {
    const actord::Message first = co_await ctx.Receive();
    const actord::Message second = co_await ctx.Receive();
    EXPECT_EQ(second.call(), 0u);
    ctx.ReplyError(7, Code::kAborted, "seven");
    ctx.Reply(first, "first");
    co_return "";
  });
  process().Message("ask", "", {}, 5);
  EXPECT_EQ(Step(), ACTORD_STEP_IDLE);
  EXPECT_THAT(process().replies, IsEmpty());
  EXPECT_EQ(Message("plain"), ACTORD_STEP_DONE);
  ASSERT_EQ(process().replies.size(), 2u);
  EXPECT_EQ(process().replies[0].call, 7u);
  EXPECT_EQ(process().replies[0].code, Code::kAborted);
  EXPECT_EQ(process().replies[1].call, 5u);
  EXPECT_EQ(process().replies[1].payload.bytes, "first");
}

// The losing part of a WhenAny cancels its command, and so does a cancelled
// wait.
TEST_F(ActorsTest, AbandonedCommandsAndCallsAreGivenUp) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_await WhenAny(ctx.Run("slow"), ctx.Call(MakePid(9), "ask"),
                     ctx.Receive("go"));
    (void)co_await ctx.Run("next");
    co_return "";
  });
  const Tag slow = TheTag();
  const Tag call = process().calls.at(0).tag;
  Message("go");
  EXPECT_THAT(process().given_up, ElementsAre(slow, call));
  const Tag next = TheTag();
  // Both commands complete as cancelled, and no coroutine waits for them.
  Complete(slow, "", Code::kCancelled);
  Complete(call, "", Code::kCancelled);
  EXPECT_EQ(Cancel(), ACTORD_STEP_FAIL);
  EXPECT_THAT(process().given_up, ElementsAre(next));
}

TEST_F(ActorsTest, CompletedCommandIsNotGivenUp) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_await WhenAny(ctx.Run("quick"), ctx.Receive("go"));
    co_return "";
  });
  EXPECT_EQ(Complete(TheTag()), ACTORD_STEP_DONE);
  EXPECT_THAT(process().given_up, IsEmpty());
}

TEST_F(ActorsTest, AnExitIsReceived) {
  EXPECT_EQ(Start([](Context& ctx) -> Task<Result<>> {
              const Tag monitor = ctx.Monitor(MakePid(9));
              const actord::Exit exit = co_await ctx.ReceiveExit(monitor);
              EXPECT_EQ(exit.pid, MakePid(9));
              EXPECT_EQ(exit.monitor, monitor);
              EXPECT_EQ(exit.reason, ExitReason::kFailed);
              EXPECT_EQ(exit.code, Code::kAborted);
              EXPECT_FALSE(exit.ok());
              co_return exit.payload;
            }),
            ACTORD_STEP_IDLE)
      << "it does not block: exits wait with messages";
  EXPECT_EQ(Exit(process().monitored.at(0).tag, ExitReason::kFailed, "broken",
                 Code::kAborted),
            ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "broken");
}

TEST_F(ActorsTest, ExitsWaitUntilTheyAreReceived) {
  Start([this](Context& ctx) -> Task<Result<>> {
    co_await ctx.Receive();
    for (const Tag tag : {Tag{2}, Tag{0}}) {
      const actord::Exit exit = co_await ctx.ReceiveExit(tag);
      trace_.push_back(exit.payload.bytes);
    }
    const actord::Exit exit = co_await ctx.ReceiveExit();
    trace_.push_back(exit.payload.bytes);
    ctx.Demonitor(4);
    ctx.Link(MakePid(3));
    ctx.Unlink(MakePid(4));
    co_await ctx.ReceiveExit();
    co_return "";
  });
  Exit(1, ExitReason::kDone, "one");
  Exit(2, ExitReason::kDone, "two");
  Exit(0, ExitReason::kDone, "link");
  EXPECT_EQ(Message("now"), ACTORD_STEP_IDLE);
  EXPECT_THAT(trace_, ElementsAre("two", "link", "one"));
  EXPECT_THAT(process().demonitored, ElementsAre(4u));
  EXPECT_THAT(process().linked, ElementsAre(MakePid(3)));
  EXPECT_THAT(process().unlinked, ElementsAre(MakePid(4)));
}

TEST_F(ActorsTest, ADemonitorForgetsAQueuedExit) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_await ctx.Receive();
    ctx.Demonitor(1);
    const actord::Exit exit = co_await ctx.ReceiveExit();
    co_return exit.payload;
  });
  Exit(1, ExitReason::kDone, "forgotten");
  EXPECT_EQ(Message("now"), ACTORD_STEP_IDLE);
  EXPECT_EQ(Exit(2, ExitReason::kDone, "seen"), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "seen");
}

TEST_F(ActorsTest, AnUnlinkForgetsTheQueuedExitsOfItsLink) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_await ctx.Receive();
    ctx.Unlink(MakePid(9));
    std::string seen;
    for (int i = 0; i < 3; ++i) {
      seen += (co_await ctx.ReceiveExit()).payload.bytes + " ";
    }
    co_return seen;
  });
  Exit(0, ExitReason::kFailed, "forgotten");
  Exit(1, ExitReason::kFailed, "monitor");
  process().Exit(MakePid(8), 0, ExitReason::kFailed, "other", Code::kOk);
  Step();
  Exit(0, ExitReason::kNoProcess, "forgotten");
  EXPECT_EQ(Message("now"), ACTORD_STEP_IDLE);
  EXPECT_EQ(Exit(0, ExitReason::kDone, "later"), ACTORD_STEP_DONE);
  EXPECT_EQ(process().result.bytes, "monitor other later ");
}

TEST_F(ActorsTest, ExitsThatNobodyAsksForCountAsMessages) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_await ctx.Receive("never");
    co_return "";
  });
  for (Tag tag = 1; tag <= ScriptCoroutine::kMaxQueuedMessages; ++tag) {
    EXPECT_EQ(Exit(tag, ExitReason::kDone), ACTORD_STEP_IDLE);
  }
  EXPECT_EQ(Exit(9, ExitReason::kDone), ACTORD_STEP_FAIL);
  EXPECT_EQ(process().failure, Code::kResourceExhausted);
}

TEST_F(ActorsTest, CancelReachesAWaitForAnExit) {
  Start([](Context& ctx) -> Task<Result<>> {
    co_await ctx.ReceiveExit();
    co_return "";
  });
  EXPECT_EQ(Cancel(), ACTORD_STEP_FAIL);
  EXPECT_EQ(process().failure, Code::kCancelled);
}

TEST_F(ActorsTest, SendAfterSendsOnce) {
  Start([](Context& ctx) -> Task<Result<>> {
    ctx.SendAfter(5s, ctx.self(), "tick", "payload");
    co_await ctx.Receive("never");
    co_return "";
  });
  EXPECT_EQ(process().yields.at(0).payload.bytes, R"({"duration_ms":5000})");
  const Tag tag = TheTag();
  PassAll(5s);
  Complete(tag);
  ASSERT_EQ(process().sent.size(), 1u);
  EXPECT_EQ(process().sent[0].to, MakePid(1));
  EXPECT_EQ(process().sent[0].topic, "tick");
  EXPECT_EQ(process().sent[0].payload.bytes, "payload");
  EXPECT_THAT(process().yields, IsEmpty());
  Complete(tag);
  EXPECT_THAT(process().sent, IsEmpty());
}

TEST_F(ActorsTest, EveryKeepsItsBeatAndLeavesOutWhatItMissed) {
  Start([](Context& ctx) -> Task<Result<>> {
    ctx.Every(10s, MakePid(9), "tick");
    co_await ctx.Receive("never");
    co_return "";
  });
  PassAll(11s);
  Complete(TheTag());
  EXPECT_EQ(process().sent.size(), 1u);
  EXPECT_EQ(process().yields.at(0).payload.bytes, R"({"duration_ms":9000})");
  // The wall clock has no effect on it.
  Pass(-1h);
  PassAll(34s);
  Complete(TheTag());
  EXPECT_EQ(process().sent.size(), 1u);
  EXPECT_EQ(process().yields.at(0).payload.bytes, R"({"duration_ms":5000})");
}

TEST_F(ActorsTest, CancelledSendIsNotSent) {
  Start([](Context& ctx) -> Task<Result<>> {
    const Tag once = ctx.SendAfter(5s, MakePid(9), "once");
    const Tag often = ctx.Every(5s, MakePid(9), "often");
    co_await ctx.Receive("stop");
    ctx.CancelSend(once);
    ctx.CancelSend(often);
    ctx.CancelSend(often);
    co_await ctx.Receive("never");
    co_return "";
  });
  const Tag once = process().yields.at(0).tag;
  const Tag often = process().yields.at(1).tag;
  Message("stop");
  EXPECT_THAT(process().given_up, ElementsAre(once, often));
  Complete(once, "", Code::kCancelled);
  EXPECT_EQ(Complete(often, "", Code::kCancelled), ACTORD_STEP_IDLE);
  EXPECT_THAT(process().sent, IsEmpty());
}

TEST_F(ActorsTest, AMessageToComeThatIsRefusedIsNotSwallowed) {
  Start([](Context& ctx) -> Task<Result<>> {
    ctx.SendAfter(5s, MakePid(9), "tick");
    co_await ctx.Receive("never");
    co_return "";
  });
  EXPECT_EQ(Complete(TheTag(), "too many", Code::kResourceExhausted),
            ACTORD_STEP_THREW);
  EXPECT_EQ(process().failure_text, "Step threw: too many");
}

}  // namespace
}  // namespace actord
