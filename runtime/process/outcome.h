// The end of a process: its kind, its result or its error.
//
// Thread-safety: plain values. Ownership: they own their contents.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/process/listed/labels.h"
#include "runtime/process/owner.h"
#include "runtime/process/payload.h"

namespace actord::runtime {

// How a process ended.
enum class EndKind : uint8_t {
  kResult,       // its step said Done
  kFailed,       // its step said Fail
  kThrew,        // its code threw, or returned an invalid value
  kInitRefused,  // its Init refused, and no submitter got the error
  kCancelled,    // a cancel ended it
  kTerminated,   // a termination ended it
  kLimit,        // it reached max_steps or max_lifetime
};

// "DONE", "FAILED", "EXCEPTION" and so on, as FailureReason in outcome.proto.
constexpr std::string_view NameOf(EndKind kind) {
  switch (kind) {
    case EndKind::kResult:
      return "DONE";
    case EndKind::kFailed:
      return "FAILED";
    case EndKind::kThrew:
      return "EXCEPTION";
    case EndKind::kInitRefused:
      return "INIT_REFUSED";
    case EndKind::kCancelled:
      return "CANCELLED";
    case EndKind::kTerminated:
      return "TERMINATED";
    case EndKind::kLimit:
      return "LIMIT_REACHED";
  }
  return "UNKNOWN";
}

// The name and labels of an ended process, by which a client finds it.
struct EndedTags {
  std::string name;     // the name that it has held longest; "": it had none
  SharedLabels labels;  // null: none

  [[nodiscard]] size_t ChargeBytes() const {
    constexpr size_t kOverheadBytes = 64;
    return kOverheadBytes + name.size() +
           (labels == nullptr ? 0 : labels->ChargeBytes());
  }
};

struct Outcome {
  EndKind kind = EndKind::kResult;
  Payload result;                                 // for kResult
  absl::StatusCode code = absl::StatusCode::kOk;  // for all other kinds
  std::string message;                            // for all other kinds
  uint64_t steps = 0;
  uint64_t started_unix_ns = 0;
  uint64_t ended_unix_ns = 0;
  Owner owner = Owner::kNobody;  // of the process
  uint16_t type = 0;             // TypeNames; 0: not known
  // Null: the process had no name and no labels. Shared, because an outcome is
  // copied for each awaiter and observer.
  std::shared_ptr<const EndedTags> tags = {};

  // Null: there are none.
  [[nodiscard]] SharedLabels labels() const {
    return tags == nullptr ? nullptr : tags->labels;
  }
};

// Why a process ends. The result, if there is one, is in the record of the
// step.
struct EndCause {
  EndKind kind = EndKind::kResult;
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string message;
};

}  // namespace actord::runtime
