// How short texts are copied, in plugins and in the runtime. Not meant to be
// used by plugins themselves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace actord::detail {

// What CopyBytes copies without a call.
inline constexpr size_t kShortBytes = 32;

// memcpy, but what is short is copied without a call: as its first and its last
// bytes, which overlap. Both may be nullptr if there is nothing to copy.
[[gnu::always_inline]] inline void CopyBytes(char* to, const char* from,
                                             size_t size) {
  const auto copy_ends = [&]<typename Word>(Word first, Word last) {
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + size - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + size - sizeof(Word), &last, sizeof(Word));
  };
  constexpr size_t kWord = sizeof(uint64_t);
  if (size > kShortBytes) {
    std::memcpy(to, from, size);
  } else if (size > 2 * kWord) {
    // Word by word, as it was written a moment ago, most likely: a processor
    // waits when it reads as one what was written as two.
    std::array<uint64_t, 4> words;
    std::memcpy(&words[0], from, kWord);
    std::memcpy(&words[1], from + kWord, kWord);
    std::memcpy(&words[2], from + size - 2 * kWord, kWord);
    std::memcpy(&words[3], from + size - kWord, kWord);
    std::memcpy(to, &words[0], kWord);
    std::memcpy(to + kWord, &words[1], kWord);
    std::memcpy(to + size - 2 * kWord, &words[2], kWord);
    std::memcpy(to + size - kWord, &words[3], kWord);
  } else if (size >= kWord) {
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
