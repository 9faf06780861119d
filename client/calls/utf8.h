// What is text, for people and for the wire.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace actord::client {

// Length in bytes of the well-formed UTF-8 character that `text` begins with;
// 0 if there is none.
size_t Utf8CharacterLength(std::string_view text);

// The number of the one well-formed UTF-8 character that `character` is.
char32_t Utf8CodePoint(std::string_view character);

// Well-formed UTF-8: no overlong forms, surrogates or numbers above U+10FFFF.
bool IsUtf8(std::string_view text);

// With '?' for every byte that belongs to no character, and cut between
// characters if it is longer than `max_bytes`.
std::string ToUtf8(std::string_view text, size_t max_bytes);

}  // namespace actord::client
