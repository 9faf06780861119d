// CopyBytes: an inlined memcpy for short texts, used in plugins and in the
// runtime. Authors of plugins do not need it.
//
// Thread-safety: pure functions. Ownership: borrows its arguments for the call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace actord::detail {

// Up to this size CopyBytes copies without a call to memcpy.
inline constexpr size_t kShortBytes = 32;

// memcpy, but short sizes are copied inline, as the first and the last bytes,
// which may overlap. Both pointers may be nullptr if `size` is 0.
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
    // Copies word by word, because the bytes were probably written word by word
    // a moment ago: the processor stalls if it reads with one wide load what
    // two narrower stores have just written.
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
