// The traces of the calls of Init and Step that a thread makes.
//
// A call is traced if one of its events is, or if it has no events and follows
// a traced call of the same process. If its events belong to several traces,
// the first event decides. With an exporter of spans, a call of a sampled trace
// is a span: the effects of the call belong to it, and it has links to the
// other events.
//
// A call that is not traced costs nothing here: Note raises a flag, and only a
// call that finds this flag, which it reads anyway, calls Begin.
//
// Thread-safety: belongs to one thread that runs turns. Ownership: borrows the
// flag and the exporter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/tracing/acting_trace.h"
#include "runtime/tracing/span.h"
#include "runtime/tracing/trace_context.h"

namespace actord::runtime {

// A yield or a call of a traced step: its tag, and its trace.
using TracedYield = std::pair<uint64_t, TraceContext>;

class TurnTraces {
 public:
  // `spans` null: no call is a span.
  explicit TurnTraces(StepSpans* spans = nullptr) : spans_(spans) {}
  ~TurnTraces() { StepTrace::Set(0, nullptr); }
  TurnTraces(const TurnTraces&) = delete;
  TurnTraces& operator=(const TurnTraces&) = delete;

  // `flag` is set when the next call has to be shown to Begin.
  void SetFlag(bool& flag) { flag_ = &flag; }

  // The next call of `process` gets an event of this trace. Only the first
  // trace that is noted for a call counts.
  void Note(TracedProcess process, TraceContext trace);
  // The next call of `process` has this trace if it has no events.
  void NoteDue(TracedProcess process, TraceContext trace);
  // Begins a call. `completions`: the tags of its events that are completions.
  // Returns whether the call is traced; StepTrace then has its trace.
  bool Begin(TracedProcess process, bool has_events,
             std::span<const uint64_t> completions);
  // Whether the call that was begun last is traced, or a trace is noted.
  [[nodiscard]] bool HasAny() const { return current_ || noted_ || due_; }
  // The trace of the call that was begun last; null: it is not traced.
  [[nodiscard]] const TraceContext* current() const {
    return current_ ? &*current_ : nullptr;
  }

  // Whether the call that was begun last is a span that has not ended.
  [[nodiscard]] bool HasSpan() const { return span_.has_value(); }
  // The call has ended. Precondition: HasSpan.
  void EndSpan(StepFacts facts);

  // The step that was begun last has made a yield or a call. Precondition: it
  // is traced.
  void Yielded(uint64_t tag);
  // The yields of the last traced steps of `process` in this turn whose
  // completions have not begun a step yet.
  std::vector<TracedYield> TakeYields(TracedProcess process);

 private:
  // Makes the call of current_, which has just begun, a span.
  void BeginSpan(Span span);

  StepSpans* const spans_;  // null: no call is a span
  bool* flag_ = nullptr;
  TracedProcess noted_process_ = 0;
  std::optional<TraceContext> noted_;
  // With the links to the other events of the call of noted_process_.
  Span linked_;
  TracedProcess due_process_ = 0;
  std::optional<TraceContext> due_;
  TracedProcess process_ = 0;  // of the call that was begun last
  std::optional<TraceContext> current_;
  std::optional<Span> span_;         // of current_
  std::vector<TracedYield> yields_;  // of process_
};

}  // namespace actord::runtime
