// The rules for lines that processes write into the log: the level and the
// longest text. The runtime and the harness of actord/testing.h both follow
// them.
//
// Thread-safety: pure functions.
#pragma once

#include <actord/abi.h>
#include <actord/text.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace actord::rules {

// A longer text is cut, and ends with the number of bytes that are missing. A
// line of the log has at most 16 KiB; the rest is for the name of the process.
inline constexpr size_t kMaxLogTextBytes = size_t{15} << 10;

// A failure shows the newest lines of its step. A step may ask for 65,536.
inline constexpr size_t kMaxFailedStepLines = 100;

// The nearest level that there is.
constexpr int32_t LogLevelOf(int32_t level) {
  return std::clamp<int32_t>(level, ACTORD_LOG_DEBUG, ACTORD_LOG_ERROR);
}

// As the command log.write and the configuration name the levels.
constexpr std::string_view LogLevelName(int32_t level) {
  switch (LogLevelOf(level)) {
    case ACTORD_LOG_DEBUG:
      return "debug";
    case ACTORD_LOG_INFO:
      return "info";
    case ACTORD_LOG_WARNING:
      return "warning";
    default:
      return "error";
  }
}

// `text`, or if it is too long its beginning, which is put into `shortened`.
inline std::string_view LogText(std::string_view text, std::string& shortened) {
  if (text.size() <= kMaxLogTextBytes) return text;
  const std::string_view beginning = CutUtf8(text, kMaxLogTextBytes);
  shortened = beginning;
  shortened +=
      "... (" + std::to_string(text.size() - beginning.size()) + " more bytes)";
  return shortened;
}

}  // namespace actord::rules
