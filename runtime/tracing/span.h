// Spans: the parts of a trace that the daemon itself has done, for an exporter
// of traces. A span is made for a traced call of Init or Step if its trace is
// sampled, and if there is an exporter (RuntimeOptions::spans).
//
// Thread-safety: plain values. Ownership: a value owns its contents.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tracing/trace_context.h"

namespace actord::runtime {

// The span of an event that a span handles besides that of its parent.
struct SpanLink {
  std::array<uint8_t, 16> trace_id{};
  std::array<uint8_t, 8> span_id{};

  friend bool operator==(const SpanLink&, const SpanLink&) = default;
};

struct Span {
  // Further links are counted, and not kept.
  static constexpr size_t kMaxLinks = 32;

  // trace.span_id is the id of this span.
  TraceContext trace;
  // All zero: the span begins its trace.
  std::array<uint8_t, 8> parent_id{};
  std::vector<SpanLink> links = {};
  uint32_t links_dropped = 0;
  uint64_t begin_unix_ns = 0;
  uint64_t begin_ns = 0;  // monotonic
  uint64_t end_unix_ns = 0;

  void Link(const TraceContext& other) {
    if (links.size() < kMaxLinks) {
      links.push_back({other.trace_id, other.span_id});
    } else {
      ++links_dropped;
    }
  }
};

// The facts about a call of Init or Step that its span has.
struct StepFacts {
  // The longest text of a failure that a span keeps. Unit: bytes.
  static constexpr size_t kMaxFailureBytes = 256;

  std::string process_type;
  std::string pid;
  // 0: the call is one of Init. Otherwise the number of the step.
  uint64_t step = 0;
  size_t events = 0;
  bool has_failed = false;
  std::string failure = {};
};

// Takes the spans of steps.
//
// Thread-safety: called from all threads that run steps; must not block.
class StepSpans {
 public:
  // Begins a span of `span.trace`, which is sampled: the span's id, which
  // replaces that of the parent there, and its begin.
  virtual void Begin(Span& span) = 0;
  virtual void End(Span span, StepFacts facts) = 0;

 protected:
  ~StepSpans() = default;
};

}  // namespace actord::runtime
