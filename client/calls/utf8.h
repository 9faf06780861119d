// Checks and repairs UTF-8, for people and for the wire.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace actord::client {

// Length in bytes of the well-formed UTF-8 character at the beginning of
// `text`; 0 if there is none.
size_t Utf8CharacterLength(std::string_view text);

// The code point of `character`, which must be one well-formed UTF-8 character.
char32_t Utf8CodePoint(std::string_view character);

// True for well-formed UTF-8: no overlong forms, surrogates or code points
// above U+10FFFF.
bool IsUtf8(std::string_view text);

// Replaces every byte that belongs to no character by '?'. Cuts text that is
// longer than `max_bytes`, between two characters.
std::string ToUtf8(std::string_view text, size_t max_bytes);

}  // namespace actord::client
