// The failure of a process: its end, and all facts that a person needs to find
// the cause.
//
// Thread-safety: a plain value. Ownership: the value owns its contents.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/process/listed/noted_step.h"
#include "runtime/process/outcome.h"
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"

namespace actord::runtime {

struct ProcessFailure {
  uint64_t id = 0;  // from 1 on, in the order in which processes failed
  Pid pid;
  Pid parent;  // empty: a client submitted the process
  Owner owner = Owner::kNobody;
  std::string process_type;  // "": the process was spawned with an unknown type
  std::string name;          // the name that it held longest; "": none
  EndKind kind = EndKind::kFailed;
  absl::StatusCode code = absl::StatusCode::kUnknown;
  std::string message;  // cut to Failures::kMaxMessageBytes
  uint64_t steps = 0;
  uint64_t started_unix_ns = 0;
  uint64_t ended_unix_ns = 0;
  // The linked process whose end has ended the process. Empty: no link has
  // ended it.
  Pid linked;
  // The process that failed first; its failure came over one link or several.
  // Empty if `linked` is empty.
  Pid first_cause;
  // The id of the trace of its last call of Init or Step (TraceIdText); "": the
  // call was not traced.
  std::string trace_id;
  // The last steps of a process that was recorded, the oldest first; otherwise
  // the step that has failed, with its events and without its effects. Empty:
  // no step has failed.
  std::vector<NotedStep> last_steps;
};

// Whether such an end is a failure. Nobody asked for it: cancels and
// terminations are orders, and Done is success.
constexpr bool IsFailure(EndKind kind) {
  switch (kind) {
    case EndKind::kFailed:
    case EndKind::kThrew:
    case EndKind::kInitRefused:
    case EndKind::kLimit:
      return true;
    case EndKind::kResult:
    case EndKind::kCancelled:
    case EndKind::kTerminated:
      return false;
  }
  return false;
}

// The outcome of a process with this failure.
inline Outcome OutcomeOf(const ProcessFailure& failure) {
  return {.kind = failure.kind,
          .result = {},
          .code = failure.code,
          .message = failure.message,
          .steps = failure.steps,
          .started_unix_ns = failure.started_unix_ns,
          .ended_unix_ns = failure.ended_unix_ns,
          .owner = failure.owner};
}

}  // namespace actord::runtime
