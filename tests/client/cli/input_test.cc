#include "client/cli/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "client/output/exit_status.h"
#include "tests/client/cli/cli_run.h"

namespace actord::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Lines(const std::string& content) {
  const TemporaryFile file(content);
  Cancellation cancellation;
  auto input = InputFile::Open(file.path(), -1, cancellation);
  EXPECT_TRUE(input.ok()) << input.status();
  std::vector<std::string> lines;
  for (;;) {
    auto line = input->ReadLine(kMaxInputBytes);
    EXPECT_TRUE(line.ok()) << line.status();
    if (!line.ok() || !*line) return lines;
    lines.push_back(**line);
  }
}

TEST(InputFile, SplitsLines) {
  EXPECT_THAT(Lines(""), ElementsAre());
  EXPECT_THAT(Lines("a\n\nb\n"), ElementsAre("a", "", "b"));
  EXPECT_THAT(Lines("a\nlast without end"),
              ElementsAre("a", "last without end"));
}

TEST(InputFile, FindsLineEndsAcrossReads) {
  const std::string long_line(700'000, 'x');
  EXPECT_THAT(Lines(long_line + "\n" + long_line + "y\nz"),
              ElementsAre(long_line, long_line + "y", "z"));
}

TEST(InputFile, RefusesALineThatIsTooLong) {
  const TemporaryFile file(std::string(1'000'000, 'x'));
  Cancellation cancellation;
  auto input = InputFile::Open(file.path(), -1, cancellation);
  ASSERT_TRUE(input.ok());
  const auto line = input->ReadLine(1000);
  EXPECT_EQ(ExitStatusOf(line.status()), ExitStatus::kUsage);
}

TEST(InputFile, NamesAFileThatItCannotRead) {
  Cancellation cancellation;
  const auto missing = InputFile::Open("/nowhere/at/all", -1, cancellation);
  EXPECT_EQ(ExitStatusOf(missing.status()), ExitStatus::kUsage);
  EXPECT_THAT(std::string(missing.status().message()),
              HasSubstr("/nowhere/at/all: No such file"));
  auto directory = InputFile::Open("/", -1, cancellation);
  ASSERT_TRUE(directory.ok());
  EXPECT_THAT(std::string(directory->ReadAll(10).status().message()),
              HasSubstr("directory"));
}

TEST(InputFile, ReportsItsProgress) {
  const TemporaryFile file("12345678\n123456789\n");
  Cancellation cancellation;
  auto input = InputFile::Open(file.path(), -1, cancellation);
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(input->Progress(), 0.0);
  ASSERT_TRUE(input->ReadLine(kMaxInputBytes).ok());
  EXPECT_NEAR(*input->Progress(), 9.0 / 19, 1e-9);
  ASSERT_TRUE(input->ReadLine(kMaxInputBytes).ok());
  EXPECT_EQ(input->Progress(), 1.0);
}

TEST(InputFile, StopsWaitingWhenInterrupted) {
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe(fds.data()), 0);
  Cancellation cancellation;
  auto input = InputFile::Open("-", fds[0], cancellation);
  ASSERT_TRUE(input.ok());
  std::thread interrupter([&] { cancellation.Cancel(); });
  const auto line = input->ReadLine(kMaxInputBytes);  // no data comes
  interrupter.join();
  EXPECT_TRUE(absl::IsCancelled(line.status())) << line.status();
  close(fds[0]);
  close(fds[1]);
}

TEST(ReadPayload, TakesTextFilesAndStandardInput) {
  Cancellation cancellation;
  const TemporaryFile file("from a file");
  const TemporaryFile stdin_file("[1, 2]");
  const auto read = [&](const std::string& argument) {
    return ReadPayload(argument, "", stdin_file.fd(), cancellation);
  };
  EXPECT_EQ(read("{\"a\": 1}")->data(), "{\"a\": 1}");
  EXPECT_EQ(read("@" + file.path())->data(), "from a file");
  EXPECT_EQ(read("-")->data(), "[1, 2]");
  EXPECT_EQ(read("")->data(), "");
  EXPECT_EQ(ExitStatusOf(read("@/nowhere").status()), ExitStatus::kUsage);
}

TEST(ReadPayload, KeepsAGivenContentType) {
  Cancellation cancellation;
  EXPECT_EQ(ReadPayload("1", "text/csv", -1, cancellation)->content_type(),
            "text/csv");
}

TEST(GuessContentType, LooksAtTheData) {
  EXPECT_EQ(GuessContentType(""), "");
  EXPECT_EQ(GuessContentType(R"({"a":1})"), "");
  EXPECT_EQ(GuessContentType("hello"), "text/plain");
  EXPECT_EQ(GuessContentType("\x89PNG\xff"), "application/octet-stream");
}

}  // namespace
}  // namespace actord::client
