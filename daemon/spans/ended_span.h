// Spans that have ended, on their way to the collector.
//
// Thread-safety: plain values. Ownership: a value owns its contents, and
// borrows the descriptor of the method, which lives as long as the program.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <variant>

#include "absl/status/status.h"
#include "runtime/tracing/span.h"

namespace actord::daemon {

// The facts about a call, unary or stream, that its span has.
struct CallFacts {
  const google::protobuf::MethodDescriptor* method = nullptr;
  // False: the call came through the JSON API.
  bool is_grpc = true;
  absl::StatusCode code = absl::StatusCode::kOk;
  // Of an error that the client has not caused; else empty.
  std::string error = {};
};

struct EndedSpan {
  runtime::Span span;
  std::variant<runtime::StepFacts, CallFacts> facts;
};

// Whether a call with this code counts as an error of the daemon, by the
// conventions of OpenTelemetry for servers of RPCs. Otherwise its client has
// caused the code, or the code tells of a state.
constexpr bool IsServersError(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

}  // namespace actord::daemon
