// Which calls of Init and Step of a thread are traced, and what is kept of
// them.
#include "runtime/tracing/turn_traces.h"

#include <gtest/gtest.h>

namespace actord::runtime {
namespace {

TraceContext Trace(uint8_t number) {
  TraceContext trace;
  trace.trace_id[0] = number;
  trace.span_id[0] = 1;
  return trace;
}

class TurnTracesTest : public ::testing::Test {
 protected:
  TurnTracesTest() { traces_.SetFlag(flag_); }

  // The number of the trace of a call that begins now; 0: none.
  int Begin(TracedProcess process, bool has_events = true,
            std::vector<uint64_t> completions = {}) {
    if (!traces_.Begin(process, has_events, completions)) return 0;
    return traces_.current()->trace_id[0];
  }

  bool flag_ = false;
  TurnTraces traces_;
};

TEST_F(TurnTracesTest, NoteRaisesTheFlagAndBelongsToOneCall) {
  traces_.Note(7, Trace(1));
  EXPECT_TRUE(flag_);
  EXPECT_TRUE(traces_.HasAny()) << "an upgrade before the step changes nothing";
  EXPECT_EQ(Begin(7), 1);
  EXPECT_EQ(StepTrace::Of(7), traces_.current());
  EXPECT_EQ(StepTrace::Of(8), nullptr);
  EXPECT_EQ(Begin(7), 0);
  EXPECT_FALSE(traces_.HasAny());
  EXPECT_EQ(StepTrace::Of(7), nullptr);
}

TEST_F(TurnTracesTest, FirstNoteCounts) {
  traces_.Note(7, Trace(1));
  traces_.Note(7, Trace(2));
  EXPECT_EQ(Begin(7), 1);
}

TEST_F(TurnTracesTest, NoteForAProcessThatTakesNoStepIsForgotten) {
  traces_.Note(7, Trace(1));
  EXPECT_EQ(Begin(8), 0);
  EXPECT_EQ(Begin(7), 0);
}

TEST_F(TurnTracesTest, OnlyACallWithoutEventsContinues) {
  traces_.Note(7, Trace(1));
  EXPECT_EQ(Begin(7), 1);
  EXPECT_EQ(Begin(7, /*has_events=*/false), 1);
  EXPECT_EQ(Begin(8, /*has_events=*/false), 0);
  EXPECT_EQ(Begin(7, /*has_events=*/false), 0);
}

TEST_F(TurnTracesTest, DueTraceIsForAStepWithoutEvents) {
  traces_.NoteDue(7, Trace(1));
  EXPECT_TRUE(flag_);
  EXPECT_TRUE(traces_.HasAny());
  EXPECT_EQ(Begin(7, /*has_events=*/false), 1);
  traces_.NoteDue(7, Trace(2));
  EXPECT_EQ(Begin(7), 0) << "its events have no trace";
  traces_.NoteDue(7, Trace(3));
  traces_.Note(7, Trace(4));
  EXPECT_EQ(Begin(7), 4) << "its event has a trace of its own";
  traces_.NoteDue(7, Trace(5));
  EXPECT_EQ(Begin(8, /*has_events=*/false), 0);
  EXPECT_EQ(Begin(7, /*has_events=*/false), 0);
}

TEST_F(TurnTracesTest, CompletionBringsTheTraceOfItsYieldOnce) {
  traces_.Note(7, Trace(1));
  Begin(7);
  traces_.Yielded(10);
  traces_.Yielded(11);
  EXPECT_EQ(Begin(7, true, {9}), 0);
  EXPECT_EQ(Begin(7, true, {9, 11}), 1);
  EXPECT_EQ(Begin(7, true, {11}), 0);
  const auto left = traces_.TakeYields(7);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].first, 10u);
  EXPECT_EQ(left[0].second, Trace(1));
  EXPECT_TRUE(traces_.TakeYields(7).empty());
}

TEST_F(TurnTracesTest, YieldsOfAnotherProcessAreNotTaken) {
  traces_.Note(7, Trace(1));
  Begin(7);
  traces_.Yielded(10);
  EXPECT_TRUE(traces_.TakeYields(8).empty());
  EXPECT_EQ(Begin(8, true, {10}), 0);
}

}  // namespace
}  // namespace actord::runtime
