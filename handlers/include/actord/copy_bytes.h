// How short texts are copied, in plugins and in the runtime. Not meant to be
// used by plugins themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace actord::detail {

// memcpy, but what is short is copied without a call: as its first and its last
// bytes, which overlap. Both may be nullptr if there is nothing to copy.
inline void CopyBytes(char* to, const char* from, size_t size) {
  const auto copy_ends = [&]<typename Word>(Word first, Word last) {
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + size - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + size - sizeof(Word), &last, sizeof(Word));
  };
  if (size > 2 * sizeof(uint64_t)) {
    std::memcpy(to, from, size);
  } else if (size >= sizeof(uint64_t)) {
    copy_ends(uint64_t{}, uint64_t{});
  } else if (size >= sizeof(uint32_t)) {
    copy_ends(uint32_t{}, uint32_t{});
  } else if (size != 0) {
    to[0] = from[0];
    to[size / 2] = from[size / 2];
    to[size - 1] = from[size - 1];
  }
}

}  // namespace actord::detail
