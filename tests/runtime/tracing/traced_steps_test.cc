// How the trace of a call from outside reaches the steps that it causes, and
// how it goes on with their effects.
#include <actord/process.h>

#include <string>
#include <vector>

#include "runtime/actors/failures.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/process/upgrading.h"
#include "runtime/tracing/acting_trace.h"
#include "tests/runtime/actors/told_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;

// The traceparent number `number`.
std::string Text(int number) {
  return "00-4bf92f3577b34da6a3ce929d0e0e473" + std::to_string(number) +
         "-00f067aa0ba902b7-01";
}
TraceContext Trace(int number, std::string_view state = "") {
  return *ReadTraceContext(Text(number), state);
}

class TracedSteps : public ToldTest {
 protected:
  // A process that answers calls at once, does what a message hands to it, and
  // writes down the trace of each step behind the topics of its events.
  Pid BeginTraced(const std::string& name, const TraceContext* trace = nullptr,
                  std::vector<Message> messages = {}) {
    return BeginWith(
        name,
        {.init = nullptr,
         .step =
             [this, name](Events events, StepOutput& out) {
               std::string seen;
               for (const Event event : events) {
                 seen += event.is_message() ? std::string(event.topic()) : "c";
                 seen += " ";
                 if (event.call() != 0) out.Reply(event.call(), "answer");
               }
               const std::string text = out.TraceParent();
               told_[name].push_back(seen +
                                     (text.empty() ? "-" : text.substr(34, 1)));
               if (name == "receiver") return;
               if (const Act act = std::exchange(acts_[name], nullptr)) {
                 act(out);
               }
             }},
        trace, std::move(messages));
  }
  Pid BeginWith(const std::string& name, const actord::testing::Script& script,
                const TraceContext* trace, std::vector<Message> messages) {
    const ActingTrace acting(trace);
    Pid pid;
    core().admission.Submit(
        SubmitRequest{"script", "", {InputOf(script), ""}, std::move(messages)},
        Pid{}, /*keep_result=*/false, [&pid](const absl::StatusOr<Pid>& begun) {
          ASSERT_TRUE(begun.ok());
          pid = *begun;
        });
    core_->Settle();
    pids_[name] = pid;
    return pid;
  }
  void Start() {
    ToldTest::Start();
    BeginTraced("sender");
    BeginTraced("receiver");
    told_.clear();
  }
  void Send(const std::string& name, const std::string& topic, int trace) {
    const TraceContext context = trace == 0 ? TraceContext() : Trace(trace);
    const ActingTrace acting(trace == 0 ? nullptr : &context);
    ASSERT_TRUE(core()
                    .SendFromOutside(Owner::kAny, pids_[name], {topic, {}},
                                     nullptr, nullptr)
                    .status.ok());
  }
  // The next step of the sender does this.
  void Next(Act act) { acts_["sender"] = std::move(act); }
  void DoUnder(int trace, Act act) {
    Next(std::move(act));
    Send("sender", "do", trace);
    core_->Settle();
  }
  std::vector<std::string> Seen(const std::string& name) {
    core_->Settle();
    return std::exchange(told_[name], {});
  }
  actord::Pid Receiver() { return PidOf("receiver"); }

  std::map<std::string, Act> acts_;
  std::map<std::string, std::vector<std::string>> told_;
};

TEST_F(TracedSteps, MessageFromOutsideHasTheTraceOfItsCall) {
  Start();
  Send("receiver", "a", 1);
  EXPECT_THAT(Seen("receiver"), ElementsAre("a 1"));
  Send("receiver", "b", 0);
  EXPECT_THAT(Seen("receiver"), ElementsAre("b -")) << "the next is untraced";
  Send("receiver", "c", 0);
  Send("receiver", "d", 2);
  Send("receiver", "e", 3);
  EXPECT_THAT(Seen("receiver"), ElementsAre("c d e 2"))
      << "the first event with a trace decides";
}

TEST_F(TracedSteps, PayloadAndTopicAndSenderStayWhole) {
  Start();
  std::string told;
  BeginWith("reader",
            {.init = nullptr,
             .step =
                 [&](Events events, StepOutput&) {
                   for (const Event event : events) {
                     told += std::string(event.topic()) + "|" +
                             std::string(event.payload().bytes) + "|" +
                             std::string(event.payload().content_type) + "|" +
                             (event.from() == PidOf("sender") ? "s" : "?");
                   }
                 }},
            nullptr, {});
  const std::string large(3000, 'x');
  DoUnder(1, [&](StepOutput& out) {
    out.Send(PidOf("reader"), "topic", {large, "text/large"});
  });
  core_->Settle();
  EXPECT_EQ(told, "topic|" + large + "|text/large|s");
}

TEST_F(TracedSteps, SendsCarryTheTraceOn) {
  Start();
  DoUnder(1, [&](StepOutput& out) { out.Send(Receiver(), "one"); });
  EXPECT_THAT(Seen("receiver"), ElementsAre("one 1"));
  // As many as an untraced step sends in a chain.
  DoUnder(2, [&](StepOutput& out) {
    for (int i = 0; i < 6; ++i) out.Send(Receiver(), std::to_string(i));
  });
  EXPECT_THAT(Seen("receiver"), ElementsAre("0 1 2 3 4 5 2"));
  DoUnder(0, [&](StepOutput& out) { out.Send(Receiver(), "none"); });
  EXPECT_THAT(Seen("receiver"), ElementsAre("none -"));
}

TEST_F(TracedSteps, SubmissionTracesInitTheFirstStepAndTheFirstMessages) {
  ToldTest::Start();
  BeginTraced("receiver");
  told_.clear();
  const TraceContext trace = Trace(4);
  Next([&](StepOutput& out) { out.Send(Receiver(), "begun"); });
  BeginTraced("sender", &trace);
  EXPECT_THAT(Seen("sender"), ElementsAre("4"));
  EXPECT_THAT(Seen("receiver"), ElementsAre("begun 4"));
  BeginTraced("fed", &trace, {{"first", {}}, {"second", {}}});
  EXPECT_THAT(Seen("fed"), ElementsAre("first second 4"));
}

TEST_F(TracedSteps, ChildrenAndTheirFirstMessagesCarryItOn) {
  Start();
  std::string child;
  const actord::testing::Script script{
      .init = nullptr, .step = [&](Events events, StepOutput& out) {
        child += std::to_string(events.size()) + ":" +
                 out.TraceParent().substr(34, 1) + " ";
      }};
  DoUnder(5, [&](StepOutput& out) {
    const actord::Pid pid = out.Spawn("script", "", InputOf(script));
    out.Send(pid, "a");
    out.Send(pid, "b");
  });
  core_->Settle();
  EXPECT_EQ(child, "2:5 ");
}

TEST_F(TracedSteps, CompletionsOfCommandsAndCallsCarryItOn) {
  Start();
  DoUnder(6, [&](StepOutput& out) { out.Call(Receiver(), "ask", "q"); });
  EXPECT_THAT(Seen("receiver"), ElementsAre("ask 6"));
  EXPECT_THAT(Seen("sender"), ElementsAre("do 6", "c 6"));
  // Answered at once, in the turn of the step or in the next one.
  DoUnder(7, [&](StepOutput& out) { out.Yield("no.such.command"); });
  EXPECT_THAT(Seen("sender"), ElementsAre("do 7", "c 7"));
  EXPECT_TRUE(core().processes.Find(pids_["sender"])->upgrading == nullptr)
      << "nothing is kept for a yield that has ended";
}

TEST_F(TracedSteps, TaskOfAWorkerHasTheTrace) {
  Start();
  const TraceContext trace = Trace(8, "vendor=x");
  {
    const ActingTrace acting(&trace);
    Next([](StepOutput& out) { out.Yield("ext"); });
    ASSERT_TRUE(core()
                    .SendFromOutside(Owner::kAny, pids_["sender"], {"do", {}},
                                     nullptr, nullptr)
                    .status.ok());
  }
  core_->Settle();
  const YieldPage page = core().tasks.List({}, 0, 10, SIZE_MAX);
  ASSERT_EQ(page.yields.size(), 1u);
  EXPECT_EQ(page.yields[0].traceparent, Text(8));
  EXPECT_EQ(page.yields[0].tracestate, "vendor=x");
  // An untraced step in between does not disturb it.
  Send("sender", "other", 0);
  EXPECT_THAT(Seen("sender"), ElementsAre("do 8", "other -"));
  Next([&](StepOutput& out) { out.Send(Receiver(), "done"); });
  core().tasks.Complete({page.yields[0].token, 0}, {});
  EXPECT_THAT(Seen("sender"), ElementsAre("c 8"));
  EXPECT_THAT(Seen("receiver"), ElementsAre("done 8"));
  EXPECT_TRUE(core().processes.Find(pids_["sender"])->upgrading == nullptr);
  DoUnder(0, [](StepOutput& out) { out.Yield("ext"); });
  EXPECT_EQ(core().tasks.List({}, 0, 10, SIZE_MAX).yields[0].traceparent, "");
}

TEST_F(TracedSteps, NextLifeForgetsTheTracesOfYieldsThatNoStepGets) {
  Start();
  const actord::testing::Script next{.init = nullptr, .step = nullptr};
  DoUnder(1, [](StepOutput& out) { out.Yield("ext"); });
  ASSERT_NE(core().processes.Find(pids_["sender"])->upgrading, nullptr);
  DoUnder(0, [&](StepOutput& out) { out.ContinueAs({InputOf(next), ""}); });
  EXPECT_EQ(core().processes.Find(pids_["sender"])->upgrading, nullptr);
  BeginTraced("sender");
  DoUnder(2, [&](StepOutput& out) {
    out.Yield("ext");
    out.ContinueAs({InputOf(next), ""});
  });
  const Upgrading* const rare =
      core().processes.Find(pids_["sender"])->upgrading;
  EXPECT_TRUE(rare == nullptr || rare->traces.empty());
}

TEST_F(TracedSteps, StepsWithoutEventsContinueTheTrace) {
  Start();
  int left = 3;
  std::string seen;
  BeginWith("worker",
            {.init = nullptr,
             .step =
                 [&](Events events, StepOutput& out) {
                   if (!events.empty()) left = 2;
                   const std::string text = out.TraceParent();
                   seen += text.empty() ? "-" : text.substr(34, 1);
                   if (left-- > 0) out.Continue();
                 }},
            nullptr, {});
  core_->Settle();
  EXPECT_EQ(seen, "----");
  seen.clear();
  Send("worker", "go", 9);
  // Another process runs between the steps, on the same thread.
  Send("receiver", "a", 0);
  core_->Settle();
  EXPECT_EQ(seen, "999");
  EXPECT_THAT(Seen("receiver"), ElementsAre("a -"));
}

TEST_F(TracedSteps, RoomOfAMailboxIsChargedAndGivenBack) {
  Start();
  const FoundProcess receiver = core().processes.Find(pids_["receiver"]);
  Send("receiver", "a", 1);
  const uint64_t traced =
      Activity::Units(receiver->activity.load(std::memory_order_relaxed));
  core_->Settle();
  Send("receiver", "a", 0);
  const uint64_t plain =
      Activity::Units(receiver->activity.load(std::memory_order_relaxed));
  core_->Settle();
  EXPECT_EQ(traced, plain + 1) << "the trace of 32 bytes is charged, too";
  DoUnder(2, [&](StepOutput& out) {
    for (int i = 0; i < 6; ++i) out.Send(Receiver(), "x");
    out.Call(Receiver(), "y");
  });
  core_->Settle();
  EXPECT_EQ(Activity::Units(receiver->activity.load()), 0u);
  EXPECT_EQ(Activity::Messages(receiver->activity.load()), 0u);
}

TEST_F(TracedSteps, DeadLettersAndRefusedCallsAreUnwrapped) {
  Start();
  const Pid gone = pids_["receiver"];
  Terminate("receiver");
  DoUnder(3, [&](StepOutput& out) {
    out.Send(ToAbi(gone), "late", "payload");
    out.Call(ToAbi(gone), "call");
  });
  EXPECT_THAT(Seen("sender"), ElementsAre("do 3", "c 3"));
  const auto letters = core().dead_letters.List({.page_size = 10});
  ASSERT_EQ(letters.letters.size(), 1u);
  EXPECT_EQ(letters.letters[0].message.topic, "late");
}

TEST_F(TracedSteps, FailureNamesItsTrace) {
  Start();
  DoUnder(4, [](StepOutput& out) { out.Fail({Code::kAborted, "no"}); });
  const auto failure = core().failures.Find(pids_["sender"]);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->trace_id, Text(4).substr(3, 32));
  BeginTraced("sender");
  DoUnder(0, [](StepOutput& out) { out.Fail({Code::kAborted, "no"}); });
  EXPECT_EQ(core().failures.Find(pids_["sender"])->trace_id, "");
}

}  // namespace
}  // namespace actord::runtime
