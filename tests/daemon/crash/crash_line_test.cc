#include "daemon/crash/crash_line.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>

namespace actord::daemon {
namespace {

constexpr std::chrono::milliseconds kTime(1'738'324'800'042);

std::string Line(LogFormat format, std::string_view message) {
  return std::string(ToCrashLine(format, kTime, message).view());
}

TEST(CrashLine, ForPeople) {
  EXPECT_EQ(Line(LogFormat::kConsole, "crash: \"x\"\n\x1b"),
            "2025-01-31T12:00:00.042Z fatal   crash: \"x\"\\n\\x1b\n");
}

TEST(CrashLine, InJson) {
  EXPECT_EQ(Line(LogFormat::kJson, "crash: \"x\""),
            R"({"time":"2025-01-31T12:00:00.042Z","level":"fatal",)"
            R"("message":"crash: \"x\""})"
            "\n");
}

TEST(CrashLine, LongestMessageOfTheLongestEscapesIsWhole) {
  const std::string message(kCrashTextBytes, '\x01');
  const std::string json = Line(LogFormat::kJson, message);
  EXPECT_EQ(nlohmann::json::parse(json).at("message"), message);
  EXPECT_EQ(json.back(), '\n');
  EXPECT_EQ(Line(LogFormat::kConsole, message).back(), '\n');
}

TEST(CrashLine, IsDroppedIfNobodyReads) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe2(pipe_ends.data(), O_NONBLOCK), 0);
  const std::string junk(4096, 'x');
  while (write(pipe_ends[1], junk.data(), junk.size()) > 0) {
  }
  ASSERT_EQ(fcntl(pipe_ends[1], F_SETFL, 0), 0);
  const CrashLine line = ToCrashLine(LogFormat::kConsole, kTime, "crash");
  EXPECT_FALSE(WriteCrashLine(pipe_ends[1], line, 1));
  std::string read_back(1 << 20, '\0');
  ASSERT_GT(read(pipe_ends[0], read_back.data(), read_back.size()), 0);
  EXPECT_TRUE(WriteCrashLine(pipe_ends[1], line, 1));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

}  // namespace
}  // namespace actord::daemon
