// Cuts texts without splitting a UTF-8 character (RFC 3629).
//
// Thread-safety: a pure function.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace actord::runtime {

// The beginning of `text`, at most `max_bytes`, cut before the first character
// that does not fit. Text that is not UTF-8 there is cut at `max_bytes`.
inline std::string Utf8Prefix(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  const auto continues = [text](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  // A character has at most 4 bytes; a longer sequence is not UTF-8.
  constexpr size_t kMaxContinuation = 3;
  size_t end = max_bytes;
  while (end > 0 && continues(end) && max_bytes - end < kMaxContinuation) {
    --end;
  }
  return std::string(text.substr(0, continues(end) ? max_bytes : end));
}

}  // namespace actord::runtime
