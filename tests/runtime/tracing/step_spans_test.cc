// Which spans the steps of processes make, and how they hang together.
#include <actord/process.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/tracing/acting_trace.h"
#include "runtime/tracing/span.h"
#include "tests/runtime/actors/told_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Gives spans the ids 1, 2 and so on.
class KeptSpans final : public StepSpans {
 public:
  struct One {
    Span span;
    StepFacts facts;
  };

  void Begin(Span& span) override {
    EXPECT_TRUE(span.trace.is_sampled());
    span.trace.span_id = IdOf(++last_);
  }
  void End(Span span, StepFacts facts) override {
    ended_.push_back({std::move(span), std::move(facts)});
  }
  std::vector<One> Take() { return std::exchange(ended_, {}); }

  static std::array<uint8_t, 8> IdOf(uint8_t number) {
    return {0, 0, 0, 0, 0, 0, 0, number};
  }

 private:
  uint8_t last_ = 0;
  std::vector<One> ended_;
};

class StepSpansTest : public ToldTest {
 protected:
  void SetUp() override {
    RuntimeOptions options;
    options.spans = &kept_;
    Start(options);
    Begin("sender");
    Begin("receiver");
    core_->Settle();
    EXPECT_THAT(Take(), IsEmpty());
  }
  void TearDown() override { core_.reset(); }

  // A trace whose span has the id 100 + `number`.
  static TraceContext TraceOfTest(uint8_t number,
                                  uint8_t flags = TraceContext::kSampled) {
    TraceContext trace{.flags = flags};
    trace.trace_id[0] = number;
    trace.span_id[7] = static_cast<uint8_t>(100 + number);
    return trace;
  }
  void SendUnder(const TraceContext& trace, const std::string& name,
                 const std::string& topic) {
    const ActingTrace acting(&trace);
    ASSERT_TRUE(core()
                    .SendFromOutside(Owner::kAny, pids_[name], {topic, {}},
                                     nullptr, nullptr)
                    .status.ok());
  }
  // The sender does this in a step of the trace.
  void DoUnder(const TraceContext& trace, Act act) {
    DoLater("sender", std::move(act));
    SendUnder(trace, "sender", "now");
    core_->Settle();
  }
  std::vector<KeptSpans::One> Take() {
    core_->Settle();
    return kept_.Take();
  }
  // The ids of the parent and of the span itself.
  std::vector<std::string> TakeIds() {
    std::vector<std::string> ids;
    for (const KeptSpans::One& one : Take()) {
      ids.push_back(std::to_string(one.span.parent_id[7]) + ">" +
                    std::to_string(one.span.trace.span_id[7]));
    }
    return ids;
  }

  KeptSpans kept_;
  // Does nothing.
  const actord::testing::Script idle_{.init = nullptr, .step = nullptr};
};

TEST_F(StepSpansTest, StepIsAChildOfItsMessageAndNamesItsProcess) {
  SendUnder(TraceOfTest(1), "receiver", "a");
  const std::vector<KeptSpans::One> spans = Take();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].span.trace.trace_id, TraceOfTest(1).trace_id);
  EXPECT_EQ(spans[0].span.parent_id, KeptSpans::IdOf(101));
  EXPECT_EQ(spans[0].span.trace.span_id, KeptSpans::IdOf(1));
  EXPECT_THAT(spans[0].span.links, IsEmpty());
  const StepFacts& facts = spans[0].facts;
  EXPECT_EQ(facts.process_type, "script");
  EXPECT_EQ(facts.pid, FormatPid(pids_["receiver"]));
  EXPECT_EQ(facts.step, 2u);
  EXPECT_EQ(facts.events, 1u);
  EXPECT_FALSE(facts.has_failed);
  // The next step of the process belongs to no trace.
  core_->Send(pids_["receiver"], -1, "b");
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(StepSpansTest, TraceThatIsNotSampledMakesNoneAndGoesOn) {
  std::string seen;
  DoUnder(TraceOfTest(1, 0), [&](StepOutput& out) {
    seen = out.TraceParent();
    out.Send(PidOf("receiver"), "x");
  });
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(seen, TraceparentOf(TraceOfTest(1, 0)));
}

TEST_F(StepSpansTest, EffectsAreChildrenOfTheirStep) {
  std::string seen;
  DoUnder(TraceOfTest(1), [&](StepOutput& out) {
    seen = out.TraceParent();
    out.Send(PidOf("receiver"), "x");
    out.Yield("ext");
  });
  EXPECT_THAT(TakeIds(), ElementsAre("101>1", "1>2"));
  EXPECT_EQ(seen.substr(36, 16), "0000000000000001");
  const YieldPage page = core().tasks.List({}, 0, 10, SIZE_MAX);
  ASSERT_EQ(page.yields.size(), 1u);
  EXPECT_EQ(page.yields[0].traceparent, seen);
  core().tasks.Complete({page.yields[0].token, 0}, {});
  EXPECT_THAT(TakeIds(), ElementsAre("1>3"))
      << "the step that gets the answer follows the step that has asked";
}

TEST_F(StepSpansTest, InitIsASpanAndTheFirstStepIsItsChild) {
  const TraceContext trace = TraceOfTest(1);
  const ActingTrace acting(&trace);
  core().admission.Submit(SubmitRequest{"script", "", {InputOf(idle_), ""}, {}},
                          Pid{}, /*keep_result=*/false,
                          [](const absl::StatusOr<Pid>&) {});
  const std::vector<KeptSpans::One> spans = Take();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].facts.step, 0u);
  EXPECT_EQ(spans[0].span.parent_id, KeptSpans::IdOf(101));
  EXPECT_EQ(spans[1].facts.step, 1u);
  EXPECT_EQ(spans[1].span.parent_id, spans[0].span.trace.span_id);
}

TEST_F(StepSpansTest, ChildrenOfProcessesAreChildrenOfTheStep) {
  DoUnder(TraceOfTest(1), [&](StepOutput& out) {
    std::ignore = out.Spawn("script", "", InputOf(idle_));
  });
  EXPECT_THAT(TakeIds(), ElementsAre("101>1", "1>2", "2>3"));
}

TEST_F(StepSpansTest, FurtherEventsAreLinks) {
  for (uint8_t i = 1; i <= 3; ++i) SendUnder(TraceOfTest(i), "receiver", "m");
  const std::vector<KeptSpans::One> spans = Take();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].span.parent_id, KeptSpans::IdOf(101));
  EXPECT_EQ(spans[0].facts.events, 3u);
  EXPECT_THAT(
      spans[0].span.links,
      ElementsAre(SpanLink{TraceOfTest(2).trace_id, TraceOfTest(2).span_id},
                  SpanLink{TraceOfTest(3).trace_id, TraceOfTest(3).span_id}));
  SendUnder(TraceOfTest(4), "receiver", "m");
  EXPECT_THAT(Take()[0].span.links, IsEmpty()) << "links are of one step";
}

TEST_F(StepSpansTest, LinksAreBounded) {
  for (int i = 0; i < 40; ++i) SendUnder(TraceOfTest(1), "receiver", "m");
  size_t linked = 0;
  for (const KeptSpans::One& one : Take()) {
    EXPECT_LE(one.span.links.size(), Span::kMaxLinks);
    EXPECT_EQ(one.span.links.size() + one.span.links_dropped + 1,
              one.facts.events);
    linked += one.facts.events;
  }
  EXPECT_EQ(linked, 40u);
}

TEST_F(StepSpansTest, FailureHasItsText) {
  DoUnder(TraceOfTest(1), [](StepOutput& out) {
    out.Fail({Code::kAborted, "no \xff" + std::string(1000, 'x')});
  });
  const std::vector<KeptSpans::One> spans = Take();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_TRUE(spans[0].facts.has_failed);
  EXPECT_TRUE(spans[0].facts.failure.starts_with("no \xef\xbf\xbdxx"));
  EXPECT_LE(spans[0].facts.failure.size(), StepFacts::kMaxFailureBytes);
  Begin("sender");
  DoUnder(TraceOfTest(2), [](StepOutput& out) {
    std::ignore = out.Spawn("script", "", {"", std::string(70'000, 'c')});
  });
  const std::vector<KeptSpans::One> misuses = Take();
  ASSERT_EQ(misuses.size(), 1u);
  EXPECT_TRUE(misuses[0].facts.has_failed) << "a misuse fails the step";
}

}  // namespace
}  // namespace actord::runtime
