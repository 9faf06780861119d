#include "client/output/text.h"

#include <actord/text.h>

#include <array>
#include <cstdio>
#include <iterator>

#include "client/output/exit_status.h"

namespace actord::client {
namespace {

// Moves the first character of `text`, or one byte that belongs to no
// character, to `shown`.
void AppendShown(std::string_view& text, std::string& shown) {
  const size_t length = Utf8CharacterLength(text);
  const std::string_view character = text.substr(0, length);
  if (length == 0 || IsTerminalControl(Utf8CodePoint(character))) {
    shown += '?';
  } else {
    shown += character;
  }
  text.remove_prefix(length == 0 ? 1 : length);
}

}  // namespace

absl::StatusOr<absl::Duration> ParseDuration(const std::string& text) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) ||
      duration < absl::ZeroDuration() ||
      duration > absl::Hours(24 * 365 * 100)) {
    return UsageError("\"" + text +
                      "\" is not a duration such as 30s, 500ms or 1h30m");
  }
  return duration;
}

std::string ShortDuration(absl::Duration duration) {
  if (duration < absl::Seconds(1)) {
    return std::to_string(absl::ToInt64Milliseconds(duration)) + "ms";
  }
  struct Unit {
    int64_t seconds;
    const char* name;
  };
  static constexpr Unit kUnits[] = {
      {86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}};
  int64_t left = absl::ToInt64Seconds(duration);
  for (size_t i = 0; i < std::size(kUnits); ++i) {
    const int64_t count = left / kUnits[i].seconds;
    if (count == 0) continue;
    std::string text = std::to_string(count) + kUnits[i].name;
    if (i + 1 == std::size(kUnits)) return text;
    left -= count * kUnits[i].seconds;
    const int64_t rest = left / kUnits[i + 1].seconds;
    if (rest > 0) text += std::to_string(rest) + kUnits[i + 1].name;
    return text;
  }
  return "0s";
}

std::string Rfc3339(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", time, absl::UTCTimeZone());
}

std::string Rfc3339Ms(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

std::string WithThousands(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string ShortBytes(uint64_t bytes) {
  static constexpr std::array kUnits = {"KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};
  // The numbers that need no fourth digit when they are rounded.
  constexpr double kMaxWhole = 999.5;
  constexpr double kMaxWithTenths = 99.95;
  if (bytes <= 999) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= kMaxWhole && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.*f %s",
                value < kMaxWithTenths ? 1 : 0, value, kUnits[unit]);
  return buffer.data();
}

bool IsTerminalControl(char32_t code_point) {
  const auto within = [code_point](char32_t first, char32_t last) {
    return first <= code_point && code_point <= last;
  };
  return code_point < 0x20U || within(0x7F, 0x9F) || code_point == 0x61C ||
         within(0x200E, 0x200F) || within(0x2028, 0x202E) ||
         within(0x2066, 0x2069) || code_point == 0xFEFF ||
         within(0xFFFE, 0xFFFF);
}

std::string OneLine(std::string_view text, size_t max_width) {
  std::string line;
  size_t width = 0;
  // The place for "...".
  size_t cut_at = 0;
  while (!text.empty()) {
    if (max_width > 0 && width == max_width) {
      line.resize(cut_at);
      return line + "...";
    }
    const char first = text.front();
    if (first == '\n' || first == '\t' || first == '\r') {
      line += ' ';
      text.remove_prefix(1);
    } else {
      AppendShown(text, line);
    }
    ++width;
    if (width + 3 == max_width) cut_at = line.size();
  }
  return line;
}

std::string SeveralLines(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    if (text.substr(0, 2) == "\r\n") text.remove_prefix(1);
    const char first = text.front();
    if (first == '\n' || first == '\t') {
      lines += first;
      text.remove_prefix(1);
    } else {
      AppendShown(text, lines);
    }
  }
  return lines;
}

size_t Width(std::string_view text) {
  size_t width = 0;
  for (const char c : text) {
    if (!ContinuesUtf8(c)) ++width;
  }
  return width;
}

}  // namespace actord::client
