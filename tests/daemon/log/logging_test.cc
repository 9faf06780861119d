#include "daemon/log/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/details/log_msg.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "daemon/log/log_format.h"
#include "daemon/log/text_escapes.h"

namespace actord::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Json(std::string_view text) {
  spdlog::memory_buf_t out;
  AppendJsonString(text, out);
  return {out.data(), out.size()};
}

std::string Visible(std::string_view text) {
  spdlog::memory_buf_t out;
  AppendVisible(text, out);
  return {out.data(), out.size()};
}

std::string Format(LogFormat format, spdlog::level::level_enum level,
                   std::string_view message, const LogFields& fields = {}) {
  // 2025-01-31 12:00:00.042 UTC
  const spdlog::log_clock::time_point time =
      spdlog::log_clock::from_time_t(1738324800) +
      std::chrono::milliseconds(42);
  const spdlog::details::log_msg entry(
      time, spdlog::source_loc{}, "actord", level,
      spdlog::string_view_t(message.data(), message.size()));
  spdlog::memory_buf_t out;
  MakeFormatter(format)->Format(entry, fields, out);
  return {out.data(), out.size()};
}

TEST(LogFormat, JsonStringsReadBack) {
  std::string every_byte_below_0x80;
  for (char c = 0; c < 0x7f; ++c) every_byte_below_0x80 += c;
  every_byte_below_0x80 += '\x7f';
  for (const std::string& text :
       {std::string("plain"), std::string("\"quoted\" \\ back"),
        std::string("line\nline\ttab\r"), every_byte_below_0x80,
        std::string("grün 文字 \xf0\x9f\x98\x80")}) {
    const std::string json = Json(text);
    EXPECT_EQ(json.find('\n'), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(json).get<std::string>(), text) << json;
  }
}

TEST(LogFormat, JsonReplacesInvalidUtf8) {
  const std::string replacement = "\xef\xbf\xbd";
  EXPECT_EQ(Json("a\xff"
                 "b"),
            "\"a" + replacement + "b\"");
  EXPECT_EQ(Json("\xc3"), "\"" + replacement + "\"");
  EXPECT_EQ(Json("\xed\xa0\x80"),
            "\"" + replacement + replacement + replacement + "\"");
}

TEST(LogFormat, JsonEntryHasTheFieldsOfItsLineAndNoOther) {
  const std::string hostile = "a\",\"level\":\"x\xff\n\xe2\x80\xae";
  const std::string large(1000, 'n');
  const LogFields fields{.pid = "1.2.3.4",
                         .type = hostile,
                         .name = large,
                         .client = "desk",
                         .method = "Cancel",
                         .peer = "unix:17",
                         .code = "OK",
                         .trace_id = "4bf9",
                         .repeated = 7};
  const std::string line =
      Format(LogFormat::kJson, spdlog::level::info, "text", fields);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_THAT(line, Not(HasSubstr("\xe2\x80\xae")));
  const nlohmann::json entry = nlohmann::json::parse(line);
  EXPECT_EQ(entry.size(), 12u);
  EXPECT_EQ(entry["message"], "text");
  EXPECT_EQ(entry["level"], "info");
  EXPECT_EQ(entry["pid"], "1.2.3.4");
  EXPECT_EQ(entry["type"], "a\",\"level\":\"x\xef\xbf\xbd\n\xe2\x80\xae");
  EXPECT_EQ(entry["name"], large.substr(0, LogFields::kMaxFieldBytes));
  EXPECT_EQ(entry["client"], "desk");
  EXPECT_EQ(entry["method"], "Cancel");
  EXPECT_EQ(entry["peer"], "unix:17");
  EXPECT_EQ(entry["code"], "OK");
  EXPECT_EQ(entry["trace_id"], "4bf9");
  EXPECT_EQ(entry["repeated"], 7);
  // The line for people is the text alone.
  EXPECT_EQ(Format(LogFormat::kConsole, spdlog::level::info, "text", fields),
            Format(LogFormat::kConsole, spdlog::level::info, "text"));
}

TEST(LogFormat, JsonEntryIsOneObjectOnOneLine) {
  const std::string line =
      Format(LogFormat::kJson, spdlog::level::warn, "two\nlines \"here\"");
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const nlohmann::json entry = nlohmann::json::parse(line);
  EXPECT_EQ(entry.size(), 3u);
  EXPECT_EQ(entry["time"], "2025-01-31T12:00:00.042Z");
  EXPECT_EQ(entry["level"], "warning");
  EXPECT_EQ(entry["message"], "two\nlines \"here\"");
}

TEST(LogFormat, ConsoleEntryIsOneLine) {
  EXPECT_EQ(Format(LogFormat::kConsole, spdlog::level::info, "serving"),
            "2025-01-31T12:00:00.042Z info    serving\n");
  EXPECT_EQ(Format(LogFormat::kConsole, spdlog::level::err, "a\nforged line"),
            "2025-01-31T12:00:00.042Z error   a\\nforged line\n");
}

TEST(LogFormat, ConsoleEscapesControlCharacters) {
  EXPECT_EQ(Visible("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(Visible("\xc2\x9b"
                    "2J"),
            "\\x9b2J");
  EXPECT_EQ(Visible("\xff"), "\\xff");
  EXPECT_EQ(Visible("é"), "é");
}

// Marks of direction, separators and control characters beyond ASCII.
const std::vector<std::pair<std::string, std::string>>& Commands() {
  static const std::vector<std::pair<std::string, std::string>> commands{
      {"\u061c", "\\u061c"}, {"\u200e", "\\u200e"}, {"\u200f", "\\u200f"},
      {"\u2028", "\\u2028"}, {"\u2029", "\\u2029"}, {"\u202a", "\\u202a"},
      {"\u202e", "\\u202e"}, {"\u2066", "\\u2066"}, {"\u2069", "\\u2069"},
      {"\u206f", "\\u206f"}, {"\ufeff", "\\ufeff"}, {"\uffff", "\\uffff"}};
  return commands;
}

TEST(LogFormat, ConsoleEscapesMarksOfDirection) {
  for (const auto& [character, escape] : Commands()) {
    EXPECT_EQ(Visible("a" + character + "b"), "a" + escape + "b");
  }
  EXPECT_EQ(Visible("\xc2\x80\xc2\x85\xc2\x9f"), "\\x80\\x85\\x9f");
  // The characters next to them are text.
  for (const char* text : {"\u00a0", "\u061b", "\u200d", "\u2010", "\u2027",
                           "\u202f", "\u2065", "\u2070", "\U0001f600"}) {
    EXPECT_EQ(Visible(text), text);
  }
}

TEST(LogFormat, JsonEscapesControlCharacters) {
  for (const auto& [character, escape] : Commands()) {
    EXPECT_EQ(Json(character), "\"" + escape + "\"");
    EXPECT_EQ(nlohmann::json::parse(Json(character)).get<std::string>(),
              character);
  }
  for (const std::string text : {"\xc2\x80", "\xc2\x85", "\xc2\x9f"}) {
    EXPECT_EQ(Json(text).find(text), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(Json(text)).get<std::string>(), text);
  }
}

TEST(Logger, CutsLongMessagesBetweenCharacters) {
  ::testing::internal::CaptureStderr();
  {
    Logger logger(LogFormat::kJson, runtime::LogLevel::kInfo);
    // An é has two bytes, so the limit is in the middle of one.
    std::string text = "x";
    while (text.size() <= size_t{1} << 20) text += "é";
    logger.Info(text);
    logger.Info(std::string(Logger::kMaxMessageBytes, 'y'));
    // Each of these bytes is escaped.
    logger.Info(std::string(size_t{1} << 20, '\x01'));
    EXPECT_EQ(logger.dropped_lines(), 0u);
  }
  std::istringstream lines(::testing::internal::GetCapturedStderr());
  std::string line;
  std::vector<std::string> messages;
  while (std::getline(lines, line)) {
    messages.push_back(nlohmann::json::parse(line)["message"]);
  }
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0].size(),
            Logger::kMaxMessageBytes - 1 + strlen("... (1032194 more bytes)"));
  EXPECT_TRUE(messages[0].ends_with("é... (1032194 more bytes)"));
  EXPECT_EQ(messages[1], std::string(Logger::kMaxMessageBytes, 'y'));
  EXPECT_TRUE(messages[2].ends_with("\x01... (1032192 more bytes)"));
}

TEST(Logger, WritesFromItsLevelOn) {
  ::testing::internal::CaptureStderr();
  {
    Logger logger(LogFormat::kJson, runtime::LogLevel::kWarning);
    logger.Info("hidden");
    logger.Warning("shown");
    logger.SetLevel(runtime::LogLevel::kDebug);
    EXPECT_EQ(logger.level(), runtime::LogLevel::kDebug);
    logger.Debug("shown since the reload");
  }
  const std::string output = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(output, Not(HasSubstr("hidden")));
  EXPECT_THAT(output, HasSubstr("\"shown\""));
  EXPECT_THAT(output, HasSubstr("\"shown since the reload\""));
}

}  // namespace
}  // namespace actord::daemon
