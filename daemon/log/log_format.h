// Formats log lines, in two forms.
//
// Thread-safety: pure functions.
#pragma once

#include <spdlog/formatter.h>

#include <memory>
#include <string_view>

#include "daemon/settings/config.h"

namespace actord::daemon {

// Appends `text` as a JSON string with its quotes. Bytes that are not UTF-8
// become U+FFFD, so the result is always valid JSON. The characters that
// AppendVisible escapes are escaped here too, in JSON's form.
void AppendJsonString(std::string_view text, spdlog::memory_buf_t& out);

// Appends `text` so that it stays on its line, cannot command a terminal, and
// reads in the order in which it was written: escapes bytes that are not UTF-8,
// control characters, line separators and marks of direction (\x1b, \u202e).
void AppendVisible(std::string_view text, spdlog::memory_buf_t& out);

// Console: "2025-01-31T12:00:00.123Z info    message".
// JSON: {"time":"2025-01-31T12:00:00.123Z","level":"info","message":"..."}.
std::unique_ptr<spdlog::formatter> MakeFormatter(LogFormat format);

}  // namespace actord::daemon
