// Parses and formats the limit on processes of one type: the type's name, a
// space and a number, as in "order 10000".
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/process/type_limits.h"

namespace actord::daemon {

// INVALID_ARGUMENT says what is wrong. The runtime checks the range of the
// number.
absl::StatusOr<runtime::TypeLimit> ParseTypeLimitText(std::string_view text);
std::string FormatTypeLimitText(const runtime::TypeLimit& limit);

}  // namespace actord::daemon
