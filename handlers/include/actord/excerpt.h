// actord/excerpt.h: shortens a text so that an error can quote it. An error
// that quotes a whole payload could exceed the limit of a reply.
//
// Thread-safety: a pure function.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace actord {

// Returns `text` if it has at most `max_bytes` bytes. Otherwise returns its
// beginning and "...", at most `max_bytes` together, without splitting a UTF-8
// character. Precondition: `max_bytes` is at least 3.
inline std::string Excerpt(std::string_view text, std::size_t max_bytes = 48) {
  constexpr std::string_view kCut = "...";
  if (text.size() <= max_bytes) return std::string(text);
  std::size_t end = max_bytes - kCut.size();
  // Bytes from 0x80 to 0xbf continue a character. A character has at most three
  // of them.
  const std::size_t earliest = end < 3 ? 0 : end - 3;
  while (end > earliest &&
         (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) {
    --end;
  }
  return std::string(text.substr(0, end)).append(kCut);
}

}  // namespace actord
