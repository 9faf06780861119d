// Writes spans as OTLP, the protocol of OpenTelemetry, and reads the answers of
// a collector.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "daemon/spans/ended_span.h"

namespace actord::daemon {

// The daemon, as its spans name it.
struct SpanResource {
  std::string version;
  // A random UUID, which differs from start to start.
  std::string instance_id;
};

// The body of a POST to /v1/traces, in binary protobuf.
std::string WriteOtlp(std::span<const EndedSpan> spans,
                      const SpanResource& resource);

// The content of an answer with the status 200.
struct OtlpAnswer {
  // How many of the spans the collector has refused.
  uint64_t rejected_spans = 0;
  std::string error;  // why
};
// Reads the body. A malformed one says nothing.
OtlpAnswer ReadOtlpAnswer(std::string_view body);

}  // namespace actord::daemon
