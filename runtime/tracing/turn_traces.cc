#include "runtime/tracing/turn_traces.h"

#include <algorithm>
#include <utility>

#include "runtime/system/assert.h"

namespace actord::runtime {

void TurnTraces::Note(TracedProcess process, TraceContext trace) {
  if (noted_ && noted_process_ == process) {  // the first one decides
    if (spans_ != nullptr) linked_.Link(trace);
    return;
  }
  if (spans_ != nullptr) linked_ = {};
  noted_process_ = process;
  noted_ = std::move(trace);
  if (flag_ != nullptr) *flag_ = true;
}

void TurnTraces::NoteDue(TracedProcess process, TraceContext trace) {
  due_process_ = process;
  due_ = std::move(trace);
  if (flag_ != nullptr) *flag_ = true;
}

bool TurnTraces::Begin(TracedProcess process, bool has_events,
                       std::span<const uint64_t> completions) {
  std::optional<TraceContext> next;
  Span span;
  if (noted_ && noted_process_ == process) {
    next = std::move(noted_);
    if (spans_ != nullptr) span = std::exchange(linked_, {});
  }
  noted_.reset();
  std::optional<TraceContext> due = std::exchange(due_, std::nullopt);
  if (due_process_ != process) due.reset();
  const bool continues = process_ == process;
  if (!continues) yields_.clear();
  for (const uint64_t tag : completions) {
    const auto yield = std::find_if(
        yields_.begin(), yields_.end(),
        [tag](const TracedYield& made) { return made.first == tag; });
    if (yield == yields_.end()) continue;
    if (!next) {
      next = std::move(yield->second);
    } else if (spans_ != nullptr) {
      span.Link(yield->second);
    }
    yields_.erase(yield);
  }
  if (!next && !has_events) {
    next = due || !continues ? std::move(due) : std::move(current_);
  }
  process_ = process;
  current_ = std::move(next);
  span_.reset();
  if (spans_ != nullptr && current_ && current_->is_sampled()) {
    BeginSpan(std::move(span));
  }
  StepTrace::Set(process, current());
  return current_.has_value();
}

void TurnTraces::BeginSpan(Span span) {
  span.trace = *current_;
  span.parent_id = current_->span_id;
  spans_->Begin(span);
  current_->span_id = span.trace.span_id;
  span_ = std::move(span);
}

void TurnTraces::EndSpan(StepFacts facts) {
  ACTORD_ASSERT(span_.has_value(), "turn_traces.h: the call is a span");
  spans_->End(*std::exchange(span_, std::nullopt), std::move(facts));
}

void TurnTraces::Yielded(uint64_t tag) {
  ACTORD_ASSERT(current_.has_value(), "turn_traces.h: the step is traced");
  yields_.emplace_back(tag, *current_);
}

std::vector<TracedYield> TurnTraces::TakeYields(TracedProcess process) {
  if (process_ != process) return {};
  return std::exchange(yields_, {});
}

}  // namespace actord::runtime
