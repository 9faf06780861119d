// actord/excerpt.h: shortens a text so that an error can quote it. An error
// that quotes a whole payload could exceed the limit of a reply.
//
// Thread-safety: a pure function.
#pragma once

#include <actord/text.h>

#include <cassert>
#include <cstddef>
#include <string>
#include <string_view>

namespace actord {

// Returns `text` if it has at most `max_bytes` bytes. Otherwise returns its
// beginning and "...", at most `max_bytes` together, without splitting a UTF-8
// character. Precondition: `max_bytes` is at least 3.
inline std::string Excerpt(std::string_view text, std::size_t max_bytes = 48) {
  constexpr std::string_view kCut = "...";
  assert(max_bytes >= kCut.size());
  if (text.size() <= max_bytes) return std::string(text);
  return std::string(
             CutUtf8(text, max_bytes - kCut.size(), NoCharacter::kDropBytes))
      .append(kCut);
}

}  // namespace actord
