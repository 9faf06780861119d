// actord/pid_text.h: PIDs as text, where there is no step, as in Snapshot and
// Restore. The text is that of StepContext::FormatPid, of the calls over gRPC
// and of actorctl. It stays the same for version 1 of the ABI.
//
// The text has node, incarnation, slot and generation in lower-case hexadecimal
// without leading zeros, and dots between them. Each PID has one text.
//
// Thread-safety: pure functions.
#pragma once

#include <actord/abi.h>
#include <actord/values.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace actord {
namespace detail {

// The longest text of a PID: four numbers of 32 bits and three dots.
inline constexpr size_t kPidTextMaxBytes = 4 * 8 + 3;

// Writes the text of `pid` to `text`, which has room for kPidTextMaxBytes, and
// returns its length.
inline size_t WritePid(const actord_pid& pid, char* text) {
  char* at = text;
  for (const uint32_t part :
       {pid.node, pid.incarnation, pid.slot, pid.generation}) {
    if (at != text) *at++ = '.';
    at = std::to_chars(at, at + 8, part, 16).ptr;
  }
  return static_cast<size_t>(at - text);
}

// Takes one number in lower-case hexadecimal without leading zeros from the
// front of `text`.
template <typename Number>
std::optional<Number> TakeHex(std::string_view& text) {
  if (text.empty() || (text[0] == '0' && text.size() > 1 && text[1] != '.')) {
    return std::nullopt;
  }
  Number number = 0;
  size_t digits = 0;
  for (; digits < text.size(); ++digits) {
    const char c = text[digits];
    if (c >= 'A' && c <= 'F') return std::nullopt;
    const bool is_letter = c >= 'a' && c <= 'f';
    if (!is_letter && (c < '0' || c > '9')) break;
    if (digits == 2 * sizeof(Number)) return std::nullopt;
    const int digit = is_letter ? c - 'a' + 10 : c - '0';
    number = number << 4 | static_cast<Number>(digit);
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

inline bool TakeDot(std::string_view& text) {
  if (text.empty() || text[0] != '.') return false;
  text.remove_prefix(1);
  return true;
}

// Takes a PID from the front of `text`; the rest of the text stays. nullopt:
// the text begins with no PID, or with the empty one.
inline std::optional<actord_pid> TakePid(std::string_view& text) {
  uint32_t part[4];
  for (size_t i = 0; i < 4; ++i) {
    if (i > 0 && !TakeDot(text)) return std::nullopt;
    const auto number = TakeHex<uint32_t>(text);
    if (!number) return std::nullopt;
    part[i] = *number;
  }
  if (part[3] == 0) return std::nullopt;
  return actord_pid{part[0], part[1], part[2], part[3]};
}

// Accepts exactly the texts that WritePid writes, except for the text of an
// empty PID.
inline std::optional<actord_pid> ReadPid(std::string_view text) {
  if (text.size() > kPidTextMaxBytes) return std::nullopt;
  const std::optional<actord_pid> pid = TakePid(text);
  return text.empty() ? pid : std::nullopt;
}

// The content type of the text of an error that names the holder of a name; "":
// there is none.
inline std::string HolderType(const Pid& holder) {
  if (holder.empty()) return {};
  char text[kPidTextMaxBytes];
  return std::string(ACTORD_HOLDER_TYPE).append(text, WritePid(holder, text));
}

// The holder of a name that such a type names; empty: none.
inline Pid HolderIn(std::string_view error_type) {
  constexpr std::string_view kBegin = ACTORD_HOLDER_TYPE;
  if (!error_type.starts_with(kBegin)) return {};
  const std::optional<actord_pid> holder =
      ReadPid(error_type.substr(kBegin.size()));
  return holder ? Pid(*holder) : Pid();
}

}  // namespace detail

// "1.5f3a90c2.2a.1". The empty PID has a text, too, which ParsePid refuses.
inline std::string FormatPid(const Pid& pid) {
  char text[detail::kPidTextMaxBytes];
  return {text, detail::WritePid(pid, text)};
}

// nullopt: `text` is not the text of a PID.
inline std::optional<Pid> ParsePid(std::string_view text) {
  const std::optional<actord_pid> pid = detail::ReadPid(text);
  return pid ? std::optional<Pid>(*pid) : std::nullopt;
}

}  // namespace actord
