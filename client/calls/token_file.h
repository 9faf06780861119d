// Reads the token that a client presents.
//
// Thread-safety: any thread.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace actord::client {

// The token in the file at `path`: its only line. Errors name the file and
// never its content: NOT_FOUND; PERMISSION_DENIED; INVALID_ARGUMENT: it is not
// a regular file, others can read it, or it does not hold exactly one token.
absl::StatusOr<std::string> ReadToken(const std::string& path);

}  // namespace actord::client
