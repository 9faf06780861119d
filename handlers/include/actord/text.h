// actord/text.h: the rules for text that are the same in plugins, in the daemon
// and in its clients: lengths, names, patterns, UTF-8.
//
// All lengths are in bytes. The wire contract (proto/actord/v1) and abi.h state
// the same limits; a change here is a change of both.
//
// Thread-safety: pure functions. Ownership: views point into the text passed
// in.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace actord {

// Longest name: of a plugin, process type, method or command, and of a process
// or a group.
inline constexpr std::size_t kMaxNameBytes = 128;
// Longest label that a plugin may use. A label is a topic, a content type, or
// the command of a yield. A longer label fails the step.
inline constexpr std::size_t kMaxLabelBytes = 1024;
// Longest topic or content type that a client may send over gRPC. A longer one
// is refused with INVALID_FIELD. The lower limit leaves room for a process that
// puts something before a client's topic and passes the message on.
inline constexpr std::size_t kMaxClientLabelBytes = 255;
// Longest reason of a cancel or a termination. A longer reason of a plugin is
// cut, and a longer reason of a client is refused.
inline constexpr std::size_t kMaxReasonBytes = 1024;
// Longest text of a failure or of an error that completes a yield. A longer
// text of a plugin is cut, and a longer text of a client is refused.
inline constexpr std::size_t kMaxErrorTextBytes = 4096;

namespace detail {

constexpr bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

// Whether `name` has 1 to kMaxNameBytes bytes, each a letter, a digit or one of
// `marks`.
constexpr bool IsNameOf(std::string_view name, std::string_view marks) {
  if (name.empty() || name.size() > kMaxNameBytes) return false;
  for (const char c : name) {
    if (!IsLetterOrDigit(c) && marks.find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

}  // namespace detail

// Names that a plugin declares: of itself, its process types, their methods,
// and its commands.
inline constexpr std::string_view kDeclaredNameRule =
    "1 to 128 characters of [a-zA-Z0-9_.-]";
constexpr bool IsDeclaredName(std::string_view name) {
  return detail::IsNameOf(name, "_.-");
}

// Names that are given while the daemon runs: to processes, to groups, and to
// the children of a supervisor.
inline constexpr std::string_view kNameRule =
    "1 to 128 characters of a-z, A-Z, 0-9 and _.-/:";
constexpr bool IsName(std::string_view name) {
  return detail::IsNameOf(name, "_.-/:");
}

// A pattern is a name, or a prefix that ends in '*'. "*" matches every name.
// Not empty, and with a '*' only at the end, if at all.
constexpr bool IsPattern(std::string_view text) {
  const std::size_t star = text.find('*');
  return !text.empty() &&
         (star == std::string_view::npos || star + 1 == text.size());
}

// Whether `name` matches `pattern`. The pattern "" matches the name "" alone.
constexpr bool MatchesPattern(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

// UTF-8 is well-formed as RFC 3629 says: no overlong forms, no surrogates, no
// code points above U+10FFFF.

// U+FFFD.
inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

// True for the bytes 0x80 to 0xbf, which continue a character of several bytes.
constexpr bool ContinuesUtf8(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80u;
}

// Length, 1 to 4, of a character that begins with `first`; 0 if none does.
constexpr std::size_t Utf8LengthAfter(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0x80) return 1;
  if (byte < 0xc2) return 0;  // continues a character, or is overlong
  if (byte < 0xe0) return 2;
  if (byte < 0xf0) return 3;
  return byte < 0xf5 ? 4 : 0;
}

// Length, 1 to 4, of the well-formed character at the beginning of `text`; 0 if
// there is none.
constexpr std::size_t Utf8CharacterLength(std::string_view text) {
  if (text.empty()) return 0;
  const std::size_t length = Utf8LengthAfter(text[0]);
  if (length <= 1) return length;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!ContinuesUtf8(text[i])) return 0;
  }
  const auto first = static_cast<unsigned char>(text[0]);
  const auto second = static_cast<unsigned char>(text[1]);
  const bool is_overlong =
      (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_surrogate = first == 0xed && second > 0x9f;
  const bool is_too_high = first == 0xf4 && second > 0x8f;
  return is_overlong || is_surrogate || is_too_high ? 0 : length;
}

// The code point of `character`. Precondition: one well-formed character.
constexpr char32_t Utf8CodePoint(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  char32_t point = first & (0x7fu >> character.size());
  for (const char next : character.substr(1)) {
    point = point << 6u | (static_cast<unsigned char>(next) & 0x3fu);
  }
  return point;
}

constexpr bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = Utf8CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// `text` with `replacement` in place of each byte that belongs to no character.
// Cut before the first character or replacement with which the result would
// have more than `max_bytes` bytes.
inline std::string ToUtf8(
    std::string_view text, std::size_t max_bytes = std::string::npos,
    std::string_view replacement = kReplacementCharacter) {
  if (text.size() <= max_bytes && IsUtf8(text)) return std::string(text);
  std::string valid;
  while (!text.empty()) {
    const std::size_t length = Utf8CharacterLength(text);
    const std::string_view character =
        length == 0 ? replacement : text.substr(0, length);
    if (character.size() > max_bytes - valid.size()) break;
    valid += character;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

// The behaviour of CutUtf8 where no character begins in the last four bytes,
// which cannot happen in valid UTF-8.
enum class NoCharacter {
  kKeepBytes,  // cuts at exactly `max_bytes`
  kDropBytes,  // cuts up to three bytes earlier
};

// The beginning of `text`, at most `max_bytes` bytes, without splitting a
// character. Does not check that `text` is UTF-8, and looks at four bytes at
// most.
constexpr std::string_view CutUtf8(
    std::string_view text, std::size_t max_bytes,
    NoCharacter otherwise = NoCharacter::kKeepBytes) {
  if (text.size() <= max_bytes) return text;
  // At most this many bytes continue a character.
  constexpr std::size_t kMaxContinuing = 3;
  const std::size_t earliest =
      max_bytes < kMaxContinuing ? 0 : max_bytes - kMaxContinuing;
  std::size_t end = max_bytes;
  while (end > earliest && ContinuesUtf8(text[end])) --end;
  if (otherwise == NoCharacter::kKeepBytes && ContinuesUtf8(text[end])) {
    end = max_bytes;
  }
  return text.substr(0, end);
}

}  // namespace actord
