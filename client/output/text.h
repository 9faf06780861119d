// Converts between values and the text that people read and type.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace actord::client {

// Parses "30s", "1m30s", "500ms", "1.5h", "0". Refuses a negative duration, a
// number without unit, and a duration that is too long for a deadline (100
// years).
absl::StatusOr<absl::Duration> ParseDuration(const std::string& text);

// At most two units: "850ms", "42s", "3m12s", "5h2m", "12d3h".
std::string ShortDuration(absl::Duration duration);

// RFC 3339 in UTC, as in "2026-01-31T08:15:00.25Z".
std::string Rfc3339(absl::Time time);
// The same with three digits of a second, so that rows have the same width.
std::string Rfc3339Ms(absl::Time time);

// 1234567 as "1,234,567".
std::string WithThousands(uint64_t number);

// Unit: characters. An error message cuts a typed word to this length.
inline constexpr size_t kMaxRepeated = 200;

// 3145728 as "3.0 MiB"; at most three digits: "999 B", "99.9 KiB", "100 KiB".
std::string ShortBytes(uint64_t bytes);

// True for a character that acts on a terminal beyond its own cell, or is
// invisible: C0 and C1 controls and DEL, the marks that change the direction of
// writing (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), the
// line and paragraph separators, the byte order mark, and the noncharacters
// U+FFFE and U+FFFF.
bool IsTerminalControl(char32_t code_point);

// Untrusted text must pass through OneLine or SeveralLines before a terminal
// gets it.
//
// Makes text fit for one line of a terminal: characters of IsTerminalControl
// and broken UTF-8 become '?', line ends and tabs a space. Cuts text with "..."
// beyond `max_width` characters (0: no limit).
std::string OneLine(std::string_view text, size_t max_width = 0);
// Makes text fit for several lines of a terminal: like OneLine, but keeps tabs
// and line ends (LF, or CR LF, which becomes LF).
std::string SeveralLines(std::string_view text);

// Unit: characters (code points) of valid UTF-8.
size_t Width(std::string_view text);

}  // namespace actord::client
