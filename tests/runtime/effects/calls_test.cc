// Messages that want an answer: each gets exactly one, no matter how caller and
// callee end.
#include "runtime/effects/calls.h"

#include <chrono>

#include "tests/runtime/actors/told_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class Called : public ToldTest {
 protected:
  void Start(RuntimeOptions options = {}) {
    ToldTest::Start(std::move(options));
    Begin("caller");
    Begin("callee");
  }
  void Call(std::string payload = "question", YieldOptions options = {}) {
    Do("caller", [=, this](StepOutput& out) {
      out.Call(PidOf("callee"), "ask", payload, options);
    });
  }
  void Reply(CallId call, std::string payload) {
    Do("callee", [=](StepOutput& out) { out.Reply(call, payload); });
  }
  // Calls from outside: the answer is written down as text.
  Calls::Id CallFromOutside(const Pid& to, std::string topic = "ask") {
    return core().calls.Begin(
        Owner::kAny, to, {std::move(topic), {"question", ""}},
        [this](absl::StatusOr<Payload> answer) {
          answers_.push_back(answer.ok()
                                 ? answer->bytes
                                 : ReasonOf(answer.status()) + ":" +
                                       std::string(answer.status().message()));
        });
  }

  std::vector<std::string> answers_;
};

TEST_F(Called, TheReplyIsTheCallsCompletion) {
  Start();
  Call();
  EXPECT_THAT(Told("callee"), ElementsAre("m:ask:question"));
  EXPECT_THAT(Told("caller"), IsEmpty());
  Reply(TheCall(), "answer");
  EXPECT_THAT(Told("caller"), ElementsAre("c:0:answer"));
  EXPECT_EQ(core().Stats().late_replies, 0u);
  EXPECT_EQ(core().Stats().yields, core().Stats().completions);
}

TEST_F(Called, AnEventThatIsNoCallSaysSo) {
  Start();
  Call();
  EXPECT_NE(TheCall(), 0u);
  Do("caller", [&](StepOutput& out) { out.Send(PidOf("callee"), "plain"); });
  EXPECT_THAT(Told("callee"), ElementsAre("m:ask:question", "m:plain:"));
  EXPECT_THAT(TakeCalls(), IsEmpty());
}

TEST_F(Called, CallKeepsItsPlaceAmongTheMessagesOfItsSender) {
  Start();
  Do("caller", [&](StepOutput& out) {
    out.Send(PidOf("callee"), "1");
    out.Call(PidOf("callee"), "2");
    out.Send(PidOf("callee"), "3");
  });
  EXPECT_THAT(Told("callee"), ElementsAre("m:1:", "m:2:", "m:3:"));
}

TEST_F(Called, AnErrorIsAnAnswer) {
  Start();
  Call();
  const CallId call = TheCall();
  Do("callee", [=](StepOutput& out) {
    out.ReplyError(call, Code::kOutOfRange, "too far");
  });
  EXPECT_THAT(Told("caller"), ElementsAre("c:11:too far"));
}

TEST_F(Called, AnotherProcessMayAnswerLater) {
  Start();
  Begin("other");
  Call();
  const CallId call = TheCall();
  Pass(1'000'000'000);
  Do("other", [=](StepOutput& out) { out.Reply(call, "from another"); });
  EXPECT_THAT(Told("caller"), ElementsAre("c:0:from another"));
  Terminate("callee");
  EXPECT_THAT(Told("caller"), IsEmpty());
}

TEST_F(Called, LaterAnswersAreDroppedAndCounted) {
  Start();
  Call();
  const CallId call = TheCall();
  Reply(call, "1");
  Reply(call, "2");
  Reply(0, "none");
  Reply(~CallId{0}, "never given out");
  EXPECT_THAT(Told("caller"), ElementsAre("c:0:1"));
  EXPECT_EQ(core().Stats().late_replies, 3u);
}

TEST_F(Called, AfterItsTimeoutTheAnswerIsLate) {
  Start();
  Call("question", {.timeout = 5ms});
  const CallId call = TheCall();
  Pass(20'000'000);
  EXPECT_THAT(Told("caller"), ElementsAre(HasSubstr("c:4:")));
  Reply(call, "late");
  EXPECT_THAT(Told("caller"), IsEmpty());
  EXPECT_EQ(core().Stats().late_replies, 1u);
}

TEST_F(Called, TheDefaultTimeoutCounts) {
  RuntimeOptions options;
  options.default_yield_timeout = absl::Milliseconds(5);
  Start(options);
  Call();
  Pass(20'000'000);
  EXPECT_THAT(Told("caller"), ElementsAre(HasSubstr("c:4:")));
}

TEST_F(Called, CallToAnEndedOrUnknownProcessFailsAtOnce) {
  Start();
  Terminate("callee");
  Call();
  EXPECT_THAT(Told("caller"), ElementsAre(HasSubstr("c:9:process")));
  Do("caller", [](StepOutput& out) {
    out.Call(actord::Pid(actord_pid{1, 7, 999, 1}), "ask");
  });
  EXPECT_THAT(Told("caller"),
              ElementsAre(HasSubstr("c:5:there is no process")));
  Do("caller", [](StepOutput& out) { out.Call("nobody", "ask"); });
  EXPECT_THAT(Told("caller"), ElementsAre(HasSubstr("c:5:no process holds")));
}

TEST_F(Called, ANameIsCalledLikeItsHolder) {
  Start();
  Pid holder;
  ASSERT_TRUE(core().names.Register("desk", pids_["callee"], holder).ok());
  Do("caller", [](StepOutput& out) { out.Call("desk", "ask", "question"); });
  EXPECT_THAT(Told("callee"), ElementsAre("m:ask:question"));
  Reply(TheCall(), "answer");
  EXPECT_THAT(Told("caller"), ElementsAre("c:0:answer"));
}

TEST_F(Called, AFullMailboxRefuses) {
  RuntimeOptions options;
  options.max_mailbox_messages = 1;
  Start(options);
  Do("caller", [&](StepOutput& out) {
    out.Call(PidOf("callee"), "1");
    out.Call(PidOf("callee"), "2");
  });
  EXPECT_THAT(Told("callee"), ElementsAre("m:1:"));
  EXPECT_THAT(Told("caller"), ElementsAre(HasSubstr("c:8:the mailbox")));
}

TEST_F(Called, TheLimitOfYieldsCountsCalls) {
  RuntimeOptions options;
  options.max_yields = 2;
  Start(options);
  Do("caller", [&](StepOutput& out) {
    out.Yield("ext");
    out.Call(PidOf("callee"), "1");
    out.Call(PidOf("callee"), "2");
  });
  EXPECT_THAT(Told("callee"), ElementsAre("m:1:"));
  EXPECT_THAT(Told("caller"), ElementsAre(HasSubstr("c:8:the process has 2")));
}

TEST_F(Called, CallFailsWhenTheCalleeEndsWithoutAReply) {
  Start();
  Call("1");
  Call("2");
  Do("callee", [calls = TakeCalls()](StepOutput& out) {
    out.Reply(calls[1], "second");
    out.Done();
  });
  EXPECT_THAT(
      Told("caller"),
      ElementsAre("c:0:second",
                  HasSubstr("c:10:process " + FormatPid(pids_["callee"]) +
                            ", which was called, has ended")));
}

TEST_F(Called, AStepThatFailsAnswersNothing) {
  Start();
  Call();
  Do("callee", [call = TheCall()](StepOutput& out) {
    out.Reply(call, "never");
    out.Fail(Code::kAborted, "by intention");
  });
  EXPECT_THAT(Told("caller"), ElementsAre(HasSubstr("c:10:")));
}

TEST_F(Called, TheVeryStepThatSeesTheCallMayFail) {
  Start();
  pids_["failing"] = core_->Submit([](Events events, StepOutput& out) {
    if (!events.empty()) out.Fail(Code::kAborted, "by intention");
  });
  Do("caller", [&](StepOutput& out) { out.Call(PidOf("failing"), "ask"); });
  EXPECT_THAT(Told("caller"), ElementsAre(HasSubstr("c:10:")));
}

TEST_F(Called, CallInTheMailboxFailsWhenTheCalleeEnds) {
  Start();
  Do("callee", [](StepOutput& out) {
    out.Yield("ext");
    out.Block();
  });
  Call();
  EXPECT_THAT(Told("callee"), IsEmpty());
  Terminate("callee");
  EXPECT_THAT(Told("caller"), ElementsAre(HasSubstr("c:10:")));
  EXPECT_EQ(core().Stats().dead_letters, 1u);
}

TEST_F(Called, AStepThatFailsHasCalledNobody) {
  Start();
  Do("caller", [&](StepOutput& out) {
    out.Call(PidOf("callee"), "ask");
    out.Fail(Code::kAborted, "by intention");
  });
  EXPECT_THAT(Told("callee"), IsEmpty());
}

TEST_F(Called, CallCanBeGivenUp) {
  Start();
  Tag tag = 0;
  Do("caller", [&](StepOutput& out) {
    tag = out.Call(PidOf("callee"), "ask");
    out.CancelYield(tag + 1000);
  });
  const CallId call = TheCall();
  Do("caller", [&](StepOutput& out) { out.CancelYield(tag); });
  EXPECT_THAT(Told("caller"), ElementsAre(HasSubstr("c:1:")));
  Do("caller", [&](StepOutput& out) { out.CancelYield(tag); });
  Reply(call, "late");
  EXPECT_THAT(Told("caller"), IsEmpty());
  EXPECT_EQ(core().Stats().late_replies, 1u);
}

TEST_F(Called, AnExternalYieldThatIsGivenUpIsTakenBack) {
  Start();
  Tag tag = 0;
  Do("caller", [&](StepOutput& out) { tag = out.Yield("ext"); });
  EXPECT_EQ(core().tasks.waiting(), 1u);
  Do("caller", [&](StepOutput& out) { out.CancelYield(tag); });
  EXPECT_EQ(core().tasks.waiting(), 0u);
  EXPECT_THAT(Told("caller"), ElementsAre(HasSubstr("c:1:")));
  EXPECT_EQ(core().tasks.Complete({{pids_["caller"], tag}, 0}, {}),
            CompleteAnswer::kExpired);
}

TEST_F(Called, OneselfToo) {
  Start();
  Do("caller", [](StepOutput& out) { out.Call(out.self(), "ask", "me"); });
  EXPECT_THAT(Told("caller"), ElementsAre("m:ask:me"));
  Do("caller", [call = TheCall()](StepOutput& out) { out.Reply(call, "yes"); });
  EXPECT_THAT(Told("caller"), ElementsAre("c:0:yes"));
}

// A process that never answers does not accumulate calls that nobody waits for.
TEST_F(Called, GivenUpCallsAreForgotten) {
  Start();
  for (int i = 0; i < 1000; ++i) {
    Call("question", {.timeout = 1ms});
    Pass(5'000'000);
  }
  EXPECT_EQ(TakeCalls().size(), 1000u);
  const Process& callee = core_->process(pids_["callee"]);
  ASSERT_NE(callee.owed_calls, nullptr);
  EXPECT_LE(callee.owed_calls->calls.size(), 65u);
}

TEST_F(Called, FromOutsideTheAnswerIsCalledBack) {
  Start();
  EXPECT_NE(CallFromOutside(pids_["callee"]), 0u);
  EXPECT_THAT(Told("callee"), ElementsAre("m:ask:question"));
  EXPECT_THAT(answers_, IsEmpty());
  const CallId call = TheCall();
  Reply(call, "answer");
  EXPECT_THAT(answers_, ElementsAre("answer"));
  Reply(call, "again");
  EXPECT_EQ(answers_.size(), 1u);
  EXPECT_EQ(core().Stats().late_replies, 1u);
}

TEST_F(Called, FromOutsideEveryErrorHasAReason) {
  RuntimeOptions options;
  options.max_mailbox_messages = 2;
  Start(options);
  CallFromOutside(pids_["callee"]);
  core_->Settle();
  Do("callee", [call = TheCall()](StepOutput& out) {
    out.ReplyError(call, Code::kNotFound, "no such order");
  });
  CallFromOutside(pids_["callee"]);
  core_->Settle();
  CallFromOutside(pids_["callee"]);
  CallFromOutside(pids_["callee"]);
  EXPECT_EQ(CallFromOutside(pids_["callee"]), 0u);
  Terminate("callee");
  EXPECT_EQ(CallFromOutside(pids_["callee"]), 0u);
  EXPECT_THAT(
      answers_,
      ElementsAre("CALL_FAILED:no such order", HasSubstr("MAILBOX_FULL"),
                  HasSubstr("CALLEE_ENDED"), HasSubstr("CALLEE_ENDED"),
                  HasSubstr("CALLEE_ENDED"), HasSubstr("PROCESS_ENDED")));
}

TEST_F(Called, CallFromOutsideCanBeGivenUp) {
  Start();
  const Calls::Id id = CallFromOutside(pids_["callee"]);
  EXPECT_TRUE(core().calls.Cancel(id));
  EXPECT_FALSE(core().calls.Cancel(id));
  core_->Settle();
  Reply(TheCall(), "late");
  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_EQ(core().Stats().late_replies, 1u);
}

TEST_F(Called, FromOutsideNobodyIsLeftBehindAtTheEnd) {
  Start();
  CallFromOutside(pids_["callee"]);
  core().calls.AbandonAll(absl::UnavailableError("the end"));
  EXPECT_THAT(answers_, ElementsAre(":the end"));
}

}  // namespace
}  // namespace actord::runtime
