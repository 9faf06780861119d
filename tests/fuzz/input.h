// Reads the bytes of a fuzzed input as numbers and texts, from the front. An
// input that is used up gives zeros and empty texts.
//
// Also the one way in which a fuzz target fails.
//
// Thread-safety: none.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace actord::fuzz {

class Input {
 public:
  Input(const uint8_t* data, size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

  uint8_t Byte() { return static_cast<uint8_t>(Number(1)); }
  uint64_t Word() { return Number(8); }
  // From 0 to `limit` - 1.
  size_t Below(size_t limit) { return Number(limit > 256 ? 4 : 1) % limit; }
  // Up to 255 bytes: the first byte of the input is the length.
  std::string Text() {
    const size_t length = Byte();
    const std::string text(rest_.substr(0, length));
    rest_.remove_prefix(text.size());
    return text;
  }

 private:
  uint64_t Number(size_t bytes) {
    uint64_t number = 0;
    bytes = bytes < rest_.size() ? bytes : rest_.size();
    std::memcpy(&number, rest_.data(), bytes);
    rest_.remove_prefix(bytes);
    return number;
  }

  std::string_view rest_;
};

// Ends the program, and so keeps the input, unless `holds`.
inline void Require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "REQUIRED: %.*s\n", static_cast<int>(what.size()),
               what.data());
  std::abort();
}

}  // namespace actord::fuzz
