// The trace of the request that this thread carries out
// (runtime/tracing/acting_trace.h).
//
// Thread-safety: each object belongs to one thread, and lives in one scope.
#pragma once

#include <optional>
#include <utility>

#include "runtime/tracing/acting_trace.h"
#include "runtime/tracing/trace_context.h"

namespace actord::daemon {

// The trace of a call (Caller::trace).
class CallTrace {
 public:
  explicit CallTrace(std::optional<runtime::TraceContext> trace)
      : trace_(std::move(trace)), acting_(trace_ ? &*trace_ : nullptr) {}
  CallTrace(const CallTrace&) = delete;
  CallTrace& operator=(const CallTrace&) = delete;

 private:
  const std::optional<runtime::TraceContext> trace_;
  const runtime::ActingTrace acting_;
};

// The trace in the fields of a request, or of an item of a stream. Without it,
// the trace of the call stays in force.
class RequestTrace {
 public:
  template <typename Request>
  explicit RequestTrace(const Request& request) {
    if (request.traceparent().empty()) return;
    auto trace =
        runtime::ReadTraceContext(request.traceparent(), request.tracestate());
    if (trace) trace_.emplace(std::move(trace));
  }

 private:
  std::optional<CallTrace> trace_;
};

}  // namespace actord::daemon
