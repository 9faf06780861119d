// The trace to which an event belongs, as the W3C recommendation Trace Context
// writes it in the fields traceparent and tracestate.
//
// Thread-safety: plain values. Ownership: a value owns its contents.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace actord::runtime {

// The length of a traceparent of version 00. Unit: bytes.
inline constexpr size_t kTraceparentBytes = 55;
// The longest tracestate that is carried on; a longer one is dropped. Unit:
// bytes.
inline constexpr size_t kMaxTracestateBytes = 512;

struct TraceContext {
  static constexpr uint8_t kSampled = 1;
  static constexpr uint8_t kRandom = 2;

  std::array<uint8_t, 16> trace_id{};  // not all zero
  std::array<uint8_t, 8> span_id{};    // of the parent; not all zero
  uint8_t flags = 0;                   // of kSampled and kRandom
  std::string state = {};              // the tracestate; "": none

  [[nodiscard]] bool is_sampled() const { return (flags & kSampled) != 0; }

  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

// Reads the two fields. nullopt: `traceparent` breaks a rule of the
// recommendation, so there is no trace. A `tracestate` that breaks a rule, or
// that is too long, is dropped without an effect on the rest. A traceparent of
// a version above 00 is read as far as version 00 defines it.
std::optional<TraceContext> ReadTraceContext(std::string_view traceparent,
                                             std::string_view tracestate);

// The traceparent of version 00.
std::string TraceparentOf(const TraceContext& trace);
// The id of the trace as 32 hexadecimal digits.
std::string TraceIdText(const TraceContext& trace);

}  // namespace actord::runtime
