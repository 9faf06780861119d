// Well-formedness of UTF-8 (RFC 3629).
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace actord::daemon {

// Length of the character that `text` begins with, 1 to 4; 0 when it begins
// with none (overlong forms, surrogates and what is cut off are none) or is
// empty.
size_t Utf8SequenceLength(std::string_view text);

bool IsUtf8(std::string_view text);

// `text` with U+FFFD in place of each byte that is no UTF-8, cut before the
// character that would make it longer than `max_bytes`.
std::string ToUtf8(std::string_view text, size_t max_bytes = std::string::npos);

}  // namespace actord::daemon
