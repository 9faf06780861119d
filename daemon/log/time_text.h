// The time of a log line: "2025-01-31T12:00:00.123Z" (RFC 3339, UTC).
//
// Thread-safety: pure functions. They may be called in a signal handler:
// std::chrono's calendar is pure arithmetic, unlike gmtime_r, which locks.
#pragma once

#include <array>
#include <chrono>

namespace actord::daemon {

using TimeText = std::array<char, 24>;

// `time`: since the Unix epoch. A year above 9999 is cut to its last four
// digits.
[[nodiscard]] TimeText ToTimeText(std::chrono::milliseconds time);

}  // namespace actord::daemon
