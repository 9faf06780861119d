// The spans of the daemon: of its calls, and of the steps of its processes.
// They go to a collector of OpenTelemetry (traces.endpoint). Without this
// object there are no spans.
//
// Thread-safety: any thread, but Start, Stop and the destructor. Ownership:
// borrows the logger and the clock; outlives the spans that it has begun.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "daemon/counters/stats.h"
#include "daemon/log/logging.h"
#include "daemon/settings/config.h"
#include "daemon/spans/ended_span.h"
#include "daemon/spans/span_exporter.h"
#include "daemon/spans/span_queue.h"
#include "runtime/system/clock.h"
#include "runtime/tracing/span.h"

namespace actord::daemon {

class Spans;

// The span of a call, unary or stream, from its begin to its end. If a span is
// dropped, its call has passed its deadline, or else was cancelled.
//
// Thread-safety: one thread at a time. Ownership: borrows the Spans.
class CallSpan {
 public:
  // `deadline`: of the call.
  CallSpan(Spans& spans, runtime::Span span, CallFacts facts,
           absl::Time deadline)
      : spans_(&spans),
        span_(std::move(span)),
        facts_(std::move(facts)),
        deadline_(deadline) {}
  ~CallSpan();
  CallSpan(const CallSpan&) = delete;
  CallSpan& operator=(const CallSpan&) = delete;

  // The trace of everything that the call causes.
  [[nodiscard]] const runtime::TraceContext& trace() const {
    return span_.trace;
  }
  // A second End has no effect.
  void End(const absl::Status& status);

 private:
  Spans* spans_;  // null: the span has ended
  runtime::Span span_;
  CallFacts facts_;
  const absl::Time deadline_;
};

class Spans final : public runtime::StepSpans {
 public:
  // INVALID_ARGUMENT: the endpoint. INTERNAL: the system has no thread left.
  static absl::StatusOr<std::unique_ptr<Spans>> Start(
      const TraceSettings& settings, Logger& logger,
      const runtime::Clock& clock);
  // Sends the spans that wait, for at most `patience`, and then no more.
  void Stop(absl::Duration patience) { exporter_.Stop(patience); }

  // The span of a call with this trace; nullopt: the call has none. Null: the
  // call is not sampled. `deadline`: of the call; InfiniteFuture: it has none.
  [[nodiscard]] std::unique_ptr<CallSpan> BeginCall(
      const std::optional<runtime::TraceContext>& trace,
      const google::protobuf::MethodDescriptor& method, bool is_grpc,
      absl::Time deadline);

  void Begin(runtime::Span& span) override;
  void End(runtime::Span span, runtime::StepFacts facts) override;

  void WriteStats(DaemonStats& stats) const;

 private:
  friend class CallSpan;
  Spans(const TraceSettings& settings, const CollectorUrl& url, Logger& logger,
        const runtime::Clock& clock);

  // The trace of a call that brings none; nullopt: it is not sampled.
  [[nodiscard]] std::optional<runtime::TraceContext> Draw() const;
  void Push(runtime::Span span,
            std::variant<runtime::StepFacts, CallFacts> facts);

  const double sample_;
  const runtime::Clock& clock_;
  SpanQueue queue_;
  SpanExporter exporter_;
};

}  // namespace actord::daemon
