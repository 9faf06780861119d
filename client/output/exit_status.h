// What actorctl exits with, and errors that are the caller's usage.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace actord::client {

enum class ExitStatus {
  kDone = 0,
  kFailed = 1,  // the process or the request failed
  kUsage = 2,   // the command line or a file that it names is wrong
  kNotFound = 3,
  kNotAllowed = 4,
  kUnavailable = 5,
  kDeadline = 6,
  kInterrupted = 130,
};

// An INVALID_ARGUMENT that ends in kUsage, unlike one that the daemon sends.
absl::Status UsageError(const std::string& message);

ExitStatus ExitStatusOf(const absl::Status& status);

}  // namespace actord::client
