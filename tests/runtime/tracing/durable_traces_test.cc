// The trace of a message through durable processes: it is kept in memory,
// beside the records of the journal.
#include <gtest/gtest.h>

#include <string>

#include "runtime/actors/failures.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/tracing/acting_trace.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

constexpr std::string_view kTrace =
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

class DurableTraces : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(world_.Start(Options()).ok()); }
  static RuntimeOptions Options() {
    RuntimeOptions options;
    options.external_commands = {"pay"};
    return options;
  }
  // Tell, with the trace.
  void Trace(const Pid& to, const std::string& topic, const std::string& text) {
    const TraceContext trace = *ReadTraceContext(kTrace, "a=b");
    const ActingTrace acting(&trace);
    world_.Tell(to, topic, text);
  }
  // The only yield that waits for a worker.
  ExternalYield TheYield() {
    const YieldPage page = world_.runtime().tasks.List({}, 0, 10, SIZE_MAX);
    EXPECT_EQ(page.yields.size(), 1u);
    return page.yields.empty() ? ExternalYield{} : page.yields[0];
  }
  void Complete(const ExternalYield& yield) {
    world_.runtime().tasks.Complete({yield.token, 0}, {});
    world_.Settle();
  }

  DurableWorld world_;
};

TEST_F(DurableTraces, GoFromProcessToProcessToTheWorker) {
  for (const bool sends_durably : {true, false}) {
    const Pid first = world_.NewPuppet();
    const Pid second = sends_durably ? world_.NewPuppet()
                                     : world_.NewPuppet("volatile", false);
    Trace(first, "send", FormatPid(second) + " yield pay {}");
    const ExternalYield yield = TheYield();
    EXPECT_EQ(yield.traceparent, kTrace);
    EXPECT_EQ(yield.tracestate, "a=b");
    Complete(yield);
  }
}

TEST_F(DurableTraces, GoOnWithTheStepThatGetsACompletion) {
  const Pid pid = world_.NewPuppet();
  Trace(pid, "yield", "pay 1");
  // The message in between has no trace, and the completion still has it.
  world_.Tell(pid, "note", "x");
  ASSERT_EQ(TheYield().traceparent, kTrace);
  Complete(TheYield());
  EXPECT_EQ(world_.NotesOf(pid), "m:x c1=");
  world_.Tell(pid, "yield", "pay 2");
  EXPECT_EQ(TheYield().traceparent, "");
}

TEST_F(DurableTraces, GoThroughCalls) {
  const Pid caller = world_.NewPuppet();
  const Pid callee = world_.NewPuppet();
  Trace(caller, "call", FormatPid(callee) + " yield pay");
  EXPECT_EQ(TheYield().traceparent, kTrace);
}

TEST_F(DurableTraces, AreGoneAfterARestart) {
  const Pid pid = world_.NewPuppet();
  Trace(pid, "yield", "pay 1");
  world_.Restart(/*keep_cache=*/true, Options());
  EXPECT_EQ(TheYield().command, "pay");
  EXPECT_EQ(TheYield().traceparent, "");
}

// Messages of volatile processes are written before the end of their receiver,
// so that a crash loses none.
TEST_F(DurableTraces, MessagesInTheMailboxOfAnEndAreWrittenWithoutThem) {
  const Pid pid = world_.NewPuppet();
  world_.core->core->processes.Find(pid)->activity.fetch_add(
      Activity::kBlocked);  // it takes no messages
  const TraceContext trace = *ReadTraceContext(kTrace, "a=b");
  Lane& lane = world_.runtime().lane;
  Envelope* const message =
      Traced(lane.NewEnvelope(ACTORD_EVENT_MESSAGE, "note",
                              {ToAbi(std::string_view("text")), {}}),
             &trace, lane);
  ASSERT_TRUE(world_.runtime()
                  .delivery.SendOrExplain(Owner::kAny, pid, message, lane)
                  .ok());
  world_.runtime().Control(Owner::kAny, pid, kEventTerminate, "now");
  world_.Turn();
  const FoundProcess process = world_.runtime().processes.Find(pid);
  EXPECT_EQ(Activity::Units(process->activity.load()),
            Envelope::BytesFor("note", {ToAbi(std::string_view("text")), {}}) /
                kBufferUnitBytes);
  while (world_.store->Work()) {
  }
  world_.Restart(/*keep_cache=*/false);
  const auto letters = world_.runtime().dead_letters.List({.page_size = 10});
  ASSERT_EQ(letters.letters.size(), 1u);
  EXPECT_EQ(letters.letters[0].message.topic, "note");
}

TEST_F(DurableTraces, AreNamedByTheFailure) {
  const Pid pid = world_.NewPuppet();
  Trace(pid, "fail", "");
  const auto failure = world_.runtime().failures.Find(pid);
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(failure->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
}

}  // namespace
}  // namespace actord::runtime
