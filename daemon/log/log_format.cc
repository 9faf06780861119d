#include "daemon/log/log_format.h"

#include <actord/text.h>

#include <chrono>
#include <ctime>

namespace actord::daemon {
namespace {

void Append(std::string_view text, spdlog::memory_buf_t& out) {
  out.append(text.data(), text.data() + text.size());
}

void AppendEscape(std::string_view prefix, unsigned char byte,
                  spdlog::memory_buf_t& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  Append(prefix, out);
  out.push_back(kHex[byte >> 4]);
  out.push_back(kHex[byte & 0xf]);
}

// Characters that command a terminal or change how the text around them reads:
// controls (some terminals also obey U+0080 to U+009F), line and paragraph
// separators, and marks of the direction of text.
bool IsCommand(uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c ||
         point == 0x200e || point == 0x200f ||
         (point >= 0x2028 && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x206f);
}

// In JSON's form: \u202e.
void AppendCodePoint(uint32_t point, spdlog::memory_buf_t& out) {
  AppendEscape("\\u", static_cast<unsigned char>(point >> 8), out);
  AppendEscape("", static_cast<unsigned char>(point & 0xff), out);
}

void AppendTime(spdlog::log_clock::time_point time, spdlog::memory_buf_t& out) {
  const std::time_t seconds = spdlog::log_clock::to_time_t(time);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(
          time.time_since_epoch())
          .count() %
      1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  spdlog::fmt_lib::format_to(std::back_inserter(out),
                             "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                             utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                             utc.tm_hour, utc.tm_min, utc.tm_sec, milliseconds);
}

std::string_view LevelName(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::debug:
      return "debug";
    case spdlog::level::info:
      return "info";
    case spdlog::level::warn:
      return "warning";
    default:
      return "error";
  }
}

std::string_view PayloadOf(const spdlog::details::log_msg& message) {
  return {message.payload.data(), message.payload.size()};
}

class ConsoleFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& out) override {
    constexpr size_t kLevelWidth = 8;
    AppendTime(message.time, out);
    out.push_back(' ');
    const std::string_view level = LevelName(message.level);
    message.color_range_start = out.size();
    Append(level, out);
    message.color_range_end = out.size();
    Append(std::string(kLevelWidth - level.size(), ' '), out);
    AppendVisible(PayloadOf(message), out);
    out.push_back('\n');
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<ConsoleFormatter>();
  }
};

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message,
              spdlog::memory_buf_t& out) override {
    Append(R"({"time":")", out);
    AppendTime(message.time, out);
    Append(R"(","level":")", out);
    Append(LevelName(message.level), out);
    Append(R"(","message":)", out);
    AppendJsonString(PayloadOf(message), out);
    Append("}\n", out);
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

}  // namespace

void AppendJsonString(std::string_view text, spdlog::memory_buf_t& out) {
  out.push_back('"');
  while (!text.empty()) {
    const size_t length = Utf8CharacterLength(text);
    if (length == 0) {
      Append(kReplacementCharacter, out);
      text.remove_prefix(1);
      continue;
    }
    const uint32_t point = Utf8CodePoint(text.substr(0, length));
    if (point == '"' || point == '\\') {
      out.push_back('\\');
      out.push_back(text.front());
    } else if (point == '\n') {
      Append("\\n", out);
    } else if (point == '\t') {
      Append("\\t", out);
    } else if (point == '\r') {
      Append("\\r", out);
    } else if (IsCommand(point)) {
      AppendCodePoint(point, out);
    } else {
      Append(text.substr(0, length), out);
    }
    text.remove_prefix(length);
  }
  out.push_back('"');
}

void AppendVisible(std::string_view text, spdlog::memory_buf_t& out) {
  while (!text.empty()) {
    const size_t length = Utf8CharacterLength(text);
    if (length == 0) {
      AppendEscape("\\x", static_cast<unsigned char>(text.front()), out);
      text.remove_prefix(1);
      continue;
    }
    const uint32_t point = Utf8CodePoint(text.substr(0, length));
    if (point == '\n') {
      Append("\\n", out);
    } else if (IsCommand(point) && point < 0x100) {
      AppendEscape("\\x", static_cast<unsigned char>(point), out);
    } else if (IsCommand(point)) {
      AppendCodePoint(point, out);
    } else {
      Append(text.substr(0, length), out);
    }
    text.remove_prefix(length);
  }
}

std::unique_ptr<spdlog::formatter> MakeFormatter(LogFormat format) {
  if (format == LogFormat::kJson) return std::make_unique<JsonFormatter>();
  return std::make_unique<ConsoleFormatter>();
}

}  // namespace actord::daemon
