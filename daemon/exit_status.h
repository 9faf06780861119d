// The daemon's exit statuses, a part of its interface (docs/api.md).
#pragma once

#include "absl/status/status.h"

namespace actord::daemon {

enum ExitStatus : int {
  kExitClean = 0,
  kExitUsage = 64,            // the command line is wrong
  kExitCannotListen = 69,     // an address is taken or not ours
  kExitInternal = 70,         // it could not start, for a reason of its own
  kExitDrainTimeout = 75,     // processes had to be forced to end
  kExitBadConfiguration = 78  // file, environment, option or plugin
};

// For a start that failed. INVALID_ARGUMENT, NOT_FOUND and FAILED_PRECONDITION
// mean the configuration and the plugins that it names, UNAVAILABLE an address.
inline ExitStatus ExitStatusOf(const absl::Status& start) {
  switch (start.code()) {
    case absl::StatusCode::kOk:
      return kExitClean;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
      return kExitBadConfiguration;
    case absl::StatusCode::kUnavailable:
      return kExitCannotListen;
    default:
      return kExitInternal;
  }
}

}  // namespace actord::daemon
