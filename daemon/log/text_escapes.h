// Escapes text for a log line, as a JSON string or for people, and appends it
// to an output of the caller's choice. The report of a crash needs that without
// a heap.
//
// `Output` has push_back(char) and append(const char* begin, const char* end).
//
// Thread-safety: functions of their arguments. They use no lock, and no heap
// unless the output does.
#pragma once

#include <actord/text.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace actord::daemon {

template <typename Output>
void AppendText(std::string_view text, Output& out) {
  out.append(text.data(), text.data() + text.size());
}

namespace detail {

template <typename Output>
void AppendEscape(std::string_view prefix, unsigned char byte, Output& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  AppendText(prefix, out);
  out.push_back(kHex[byte >> 4]);
  out.push_back(kHex[byte & 0xf]);
}

// Characters that command a terminal or change how the text around them reads:
// controls (some terminals also obey U+0080 to U+009F), line and paragraph
// separators, and marks of the direction of text. Also the byte order mark,
// which is invisible, and the noncharacters U+FFFE and U+FFFF.
constexpr bool IsCommand(uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c ||
         point == 0x200e || point == 0x200f ||
         (point >= 0x2028 && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x206f) || point == 0xfeff ||
         point == 0xfffe || point == 0xffff;
}

// In JSON's form: \u202e.
template <typename Output>
void AppendCodePoint(uint32_t point, Output& out) {
  AppendEscape("\\u", static_cast<unsigned char>(point >> 8), out);
  AppendEscape("", static_cast<unsigned char>(point & 0xff), out);
}

}  // namespace detail

// The longest escape of one byte of text has this length.
inline constexpr size_t kMaxEscapeBytes = 6;

// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8
// become U+FFFD, so the result is always valid JSON. The characters that
// AppendVisible escapes are escaped here too, in JSON's form.
template <typename Output>
void AppendJsonString(std::string_view text, Output& out) {
  out.push_back('"');
  while (!text.empty()) {
    const size_t length = Utf8CharacterLength(text);
    if (length == 0) {
      AppendText(kReplacementCharacter, out);
      text.remove_prefix(1);
      continue;
    }
    const uint32_t point = Utf8CodePoint(text.substr(0, length));
    if (point == '"' || point == '\\') {
      out.push_back('\\');
      out.push_back(text.front());
    } else if (point == '\n') {
      AppendText("\\n", out);
    } else if (point == '\t') {
      AppendText("\\t", out);
    } else if (point == '\r') {
      AppendText("\\r", out);
    } else if (detail::IsCommand(point)) {
      detail::AppendCodePoint(point, out);
    } else {
      AppendText(text.substr(0, length), out);
    }
    text.remove_prefix(length);
  }
  out.push_back('"');
}

// Appends `text` so that it stays on its line, cannot command a terminal, and
// reads in the order in which it was written: escapes bytes that are not UTF-8,
// control characters, line separators and marks of direction (\x1b, \u202e).
template <typename Output>
void AppendVisible(std::string_view text, Output& out) {
  while (!text.empty()) {
    const size_t length = Utf8CharacterLength(text);
    if (length == 0) {
      detail::AppendEscape("\\x", static_cast<unsigned char>(text.front()),
                           out);
      text.remove_prefix(1);
      continue;
    }
    const uint32_t point = Utf8CodePoint(text.substr(0, length));
    if (point == '\n') {
      AppendText("\\n", out);
    } else if (detail::IsCommand(point) && point < 0x100) {
      detail::AppendEscape("\\x", static_cast<unsigned char>(point), out);
    } else if (detail::IsCommand(point)) {
      detail::AppendCodePoint(point, out);
    } else {
      AppendText(text.substr(0, length), out);
    }
    text.remove_prefix(length);
  }
}

}  // namespace actord::daemon
