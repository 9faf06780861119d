// Small conversions between values and the text that people read and type.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace actord::client {

// "30s", "1m30s", "500ms", "1.5h", "0". Refuses what is negative, has no unit
// or is too long for a deadline (100 years).
absl::StatusOr<absl::Duration> ParseDuration(const std::string& text);

// Two units at most: "850ms", "42s", "3m12s", "5h2m", "12d3h".
std::string ShortDuration(absl::Duration duration);

// RFC 3339 in UTC, as in "2026-01-31T08:15:00.25Z".
std::string Rfc3339(absl::Time time);

// 1234567 as "1,234,567".
std::string WithThousands(uint64_t number);

// 3145728 as "3.0 MiB".
std::string ShortBytes(uint64_t bytes);

// Fit for one line of a terminal: control characters and broken UTF-8 become
// '?', line ends and tabs a space; cut with "..." beyond `max_width` characters
// (0: not cut).
std::string OneLine(std::string_view text, size_t max_width = 0);

// Unit: characters (code points) of valid UTF-8.
size_t Width(std::string_view text);

}  // namespace actord::client
