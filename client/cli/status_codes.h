// Names of google.rpc.Code.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace actord::client {

// Accepts "NOT_FOUND" in any case, or its number; refuses OK.
absl::StatusOr<int> ParseStatusCode(const std::string& text);

}  // namespace actord::client
