#include "daemon/text/utf8.h"

#include <cstdint>

namespace actord::daemon {

size_t Utf8SequenceLength(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [text](size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  if (byte(0) < 0x80) return 1;
  const size_t length = byte(0) < 0xc0   ? 0
                        : byte(0) < 0xe0 ? 2
                        : byte(0) < 0xf0 ? 3
                        : byte(0) < 0xf8 ? 4
                                         : 0;
  if (length == 0 || text.size() < length) return 0;
  uint32_t point = byte(0) & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte(i) & 0x3fu);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = point >= 0xd800 && point < 0xe000;
  if (point < kLeast[length] || is_surrogate || point > 0x10ffff) return 0;
  return length;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string ToUtf8(std::string_view text, size_t max_bytes) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  if (text.size() <= max_bytes && IsUtf8(text)) return std::string(text);
  std::string valid;
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    const std::string_view character =
        length == 0 ? kReplacement : text.substr(0, length);
    if (character.size() > max_bytes - valid.size()) break;
    valid += character;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

}  // namespace actord::daemon
