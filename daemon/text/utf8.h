// Well-formedness of UTF-8 (RFC 3629).
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace actord::daemon {

// Length of the character at the beginning of `text`, 1 to 4. Returns 0 for
// empty text and for bytes that begin no character (overlong forms, surrogates
// and incomplete sequences).
size_t Utf8SequenceLength(std::string_view text);

bool IsUtf8(std::string_view text);

// `text` with U+FFFD in place of each byte that is not UTF-8, cut before the
// character that would make it longer than `max_bytes`.
std::string ToUtf8(std::string_view text, size_t max_bytes = std::string::npos);

}  // namespace actord::daemon
