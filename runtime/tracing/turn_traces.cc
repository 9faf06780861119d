#include "runtime/tracing/turn_traces.h"

#include <algorithm>
#include <utility>

#include "runtime/system/assert.h"

namespace actord::runtime {

void TurnTraces::Note(TracedProcess process, TraceContext trace) {
  if (noted_ && noted_process_ == process) return;  // the first one decides
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
  if (noted_process_ == process) next = std::move(noted_);
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
    if (!next) next = std::move(yield->second);
    yields_.erase(yield);
  }
  if (!next && !has_events) {
    next = due || !continues ? std::move(due) : std::move(current_);
  }
  process_ = process;
  current_ = std::move(next);
  StepTrace::Set(process, current());
  return current_.has_value();
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
