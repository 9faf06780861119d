// The exit status of actorctl, and usage errors.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace actord::client {

enum class ExitStatus {
  kDone = 0,
  // The process or the request failed.
  kFailed = 1,
  // The command line or a file that it names is wrong.
  kUsage = 2,
  kNotFound = 3,
  kNotAllowed = 4,
  kUnavailable = 5,
  kDeadline = 6,
  // A store is damaged. actord exits with the same status.
  kStoreRefused = 78,
  kInterrupted = 130,
};

// An INVALID_ARGUMENT that ends in kUsage, unlike an INVALID_ARGUMENT from the
// daemon.
absl::Status UsageError(const std::string& message);

ExitStatus ExitStatusOf(const absl::Status& status);

}  // namespace actord::client
