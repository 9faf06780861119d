// Names of google.rpc.Code.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace actord::client {

// "NOT_FOUND" in any case, or its number; not OK.
absl::StatusOr<int> ParseStatusCode(const std::string& text);

}  // namespace actord::client
