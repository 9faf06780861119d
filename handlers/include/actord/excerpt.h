// The beginning of a text of any length, to be quoted in an error: a whole
// payload in it could be larger than a reply may be.
//
// Thread-safety: a pure function.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace actord {

// `text` if it has at most `max_bytes` bytes; otherwise as much of its
// beginning as fits into `max_bytes` together with "...", up to a whole
// character of UTF-8. Precondition: `max_bytes` is at least 3.
inline std::string Excerpt(std::string_view text, std::size_t max_bytes = 48) {
  constexpr std::string_view kCut = "...";
  if (text.size() <= max_bytes) return std::string(text);
  std::size_t end = max_bytes - kCut.size();
  // Bytes from 0x80 to 0xbf continue a character, which has at most three such.
  const std::size_t earliest = end < 3 ? 0 : end - 3;
  while (end > earliest &&
         (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) {
    --end;
  }
  return std::string(text.substr(0, end)).append(kCut);
}

}  // namespace actord
