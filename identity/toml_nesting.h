// Refuses TOML that is nested too deeply before the library reads it.
//
// toml++ makes a table for each part of a dotted key, and destroys nested
// tables by recursion. A line of 100,000 parts would overflow the stack of the
// program. No file of actord needs more than four levels.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"

namespace actord::identity {

// Parts of one key or header: a.b.c has three.
inline constexpr size_t kMaxTomlKeyParts = 16;
// Arrays and inline tables within each other.
inline constexpr size_t kMaxTomlNesting = 16;
// The tables and arrays that contain one value of an accepted text: the parts
// of the header, of the key, and of one key in each nested inline table.
inline constexpr size_t kMaxTomlDepth =
    2 * kMaxTomlKeyParts + kMaxTomlNesting * (1 + kMaxTomlKeyParts);

// INVALID_ARGUMENT "file:line: ...": a key has too many parts, or a value is
// nested too deeply. The check reads valid TOML exactly. From the first place
// that is not valid it may accept or refuse anything, because toml++ reads no
// further either.
absl::Status CheckTomlNesting(std::string_view text, std::string_view file);

}  // namespace actord::identity
