// The end of a process: its kind, its result or its error.
//
// Thread-safety: plain values. Ownership: they own their contents.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "runtime/process/payload.h"

namespace actord::runtime {

// How a process ended.
enum class EndKind : uint8_t {
  kResult,       // it said Done
  kFailed,       // it said Fail
  kThrew,        // an exception or an invalid return came out of its code
  kInitRefused,  // its Init said no (seen only of spawned processes)
  kCancelled,    // a cancel ended it
  kTerminated,   // it was forced
  kLimit,        // it reached max_steps or max_lifetime
};

struct Outcome {
  EndKind kind = EndKind::kResult;
  Payload result;                                 // of kResult
  absl::StatusCode code = absl::StatusCode::kOk;  // of all the others
  std::string message;                            // of all the others
  uint64_t steps = 0;
  uint64_t started_unix_ns = 0;
  uint64_t ended_unix_ns = 0;
};

// Why a process ends. The result, if it has one, is in the record of its step.
struct EndCause {
  EndKind kind = EndKind::kResult;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message;
};

}  // namespace actord::runtime
