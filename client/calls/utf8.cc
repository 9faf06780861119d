#include "client/calls/utf8.h"

#include <algorithm>

namespace actord::client {

size_t Utf8CharacterLength(std::string_view text) {
  const auto byte = [text](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto follows = [&byte](size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (text.empty()) return 0;
  if (first < 0x80U) return 1;
  if (first < 0xC2U) return 0;
  if (first < 0xE0U) return follows(1) ? 2 : 0;
  if (first < 0xF0U) {
    if (!follows(1) || !follows(2)) return 0;
    if (first == 0xE0U && byte(1) < 0xA0U) return 0;  // overlong
    if (first == 0xEDU && byte(1) > 0x9FU) return 0;  // surrogate
    return 3;
  }
  if (first > 0xF4U || !follows(1) || !follows(2) || !follows(3)) return 0;
  if (first == 0xF0U && byte(1) < 0x90U) return 0;  // overlong
  if (first == 0xF4U && byte(1) > 0x8FU) return 0;  // above U+10FFFF
  return 4;
}

char32_t Utf8CodePoint(std::string_view character) {
  const auto bits = [&](size_t i, unsigned mask) {
    return static_cast<char32_t>(static_cast<unsigned char>(character[i]) &
                                 mask);
  };
  switch (character.size()) {
    case 1:
      return bits(0, 0x7FU);
    case 2:
      return bits(0, 0x1FU) << 6U | bits(1, 0x3FU);
    case 3:
      return bits(0, 0x0FU) << 12U | bits(1, 0x3FU) << 6U | bits(2, 0x3FU);
    default:
      return bits(0, 0x07U) << 18U | bits(1, 0x3FU) << 12U |
             bits(2, 0x3FU) << 6U | bits(3, 0x3FU);
  }
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string ToUtf8(std::string_view text, size_t max_bytes) {
  std::string good;
  while (!text.empty()) {
    const size_t length = Utf8CharacterLength(text);
    const size_t taken = std::max<size_t>(length, 1);
    if (good.size() + taken > max_bytes) break;
    if (length == 0) {
      good += '?';
    } else {
      good += text.substr(0, length);
    }
    text.remove_prefix(taken);
  }
  return good;
}

}  // namespace actord::client
