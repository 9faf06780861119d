// How a limit of processes of a type is written in the configuration: the
// type's name, a space and a number, as in "order 10000".
//
// Thread-safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/process/type_limits.h"

namespace actord::daemon {

// INVALID_ARGUMENT that says what is wrong. The range of the number is the
// runtime's business.
absl::StatusOr<runtime::TypeLimit> ParseTypeLimitText(std::string_view text);
std::string FormatTypeLimitText(const runtime::TypeLimit& limit);

}  // namespace actord::daemon
