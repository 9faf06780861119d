// The daemon's exit statuses, which are a part of its interface (docs/api.md).
#pragma once

#include "absl/status/status.h"

namespace actord::daemon {

enum ExitStatus : int {
  kExitClean = 0,
  // The command line is wrong.
  kExitUsage = 64,
  // An address is in use, or does not belong to this machine.
  kExitCannotListen = 69,
  // The daemon could not start, for an internal reason.
  kExitInternal = 70,
  // The store has failed: a write, a sync or the state store gave an error.
  kExitStorageFailed = 74,
  // Processes had to be forced to end.
  kExitDrainTimeout = 75,
  // The configuration file, the environment, an option or a plugin is wrong, or
  // the store is refused: it is damaged, in use, or of a newer version.
  kExitBadConfiguration = 78
};

// Returns the exit status of a start. INVALID_ARGUMENT, NOT_FOUND and
// FAILED_PRECONDITION are errors of the configuration and its plugins.
// DATA_LOSS is an error of the store. UNAVAILABLE is an error of an address.
inline ExitStatus ExitStatusOf(const absl::Status& start) {
  switch (start.code()) {
    case absl::StatusCode::kOk:
      return kExitClean;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kDataLoss:
      return kExitBadConfiguration;
    case absl::StatusCode::kUnavailable:
      return kExitCannotListen;
    default:
      return kExitInternal;
  }
}

}  // namespace actord::daemon
