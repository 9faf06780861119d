#include "daemon/log/log_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

// A time limit that only a failing test reaches.
constexpr absl::Duration kPatience = absl::Seconds(30);

std::string Notice(uint64_t dropped) {
  return absl::StrCat("notice ", dropped, "\n");
}

// A line of `size` bytes that begins with its number.
std::string Line(uint64_t number, size_t size = 100) {
  std::string line = absl::StrCat(number, " ");
  line.resize(size - 1, 'x');
  return line + '\n';
}

class Pipe {
 public:
  Pipe() {
    // As in the daemon: a write to a closed pipe fails and sends no signal.
    std::signal(SIGPIPE, SIG_IGN);
    EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
  }
  ~Pipe() {
    CloseReader();
    close(ends_[1]);
  }
  [[nodiscard]] int writer() const { return ends_[1]; }

  void CloseReader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }

  // The next line, without its end; "" if none comes.
  std::string ReadLine() {
    size_t end = 0;
    while ((end = text_.find('\n', begin_)) == std::string::npos) {
      pollfd readable{ends_[0], POLLIN, 0};
      const auto patience_ms =
          static_cast<int>(absl::ToInt64Milliseconds(kPatience));
      std::array<char, 1 << 16> piece{};
      const ssize_t count = poll(&readable, 1, patience_ms) == 1
                                ? read(ends_[0], piece.data(), piece.size())
                                : 0;
      if (count <= 0) {
        ADD_FAILURE() << "a line is missing";
        return "";
      }
      text_.append(piece.data(), static_cast<size_t>(count));
    }
    std::string line = text_.substr(begin_, end - begin_);
    begin_ = end + 1;
    return line;
  }
  // The lines up to the first line that begins with `last`, which is included.
  std::vector<std::string> ReadUntil(const std::string& last) {
    std::vector<std::string> lines;
    do {
      lines.push_back(ReadLine());
    } while (!lines.back().starts_with(last) && !lines.back().empty());
    return lines;
  }

 private:
  std::array<int, 2> ends_{};
  std::string text_;
  size_t begin_ = 0;  // of the text that was not returned yet
};

TEST(LogWriter, WritesAllLinesInTheirOrder) {
  Pipe pipe;
  LogWriter writer(pipe.writer(), Notice);
  std::thread reader([&] {
    const std::vector<std::string> lines = pipe.ReadUntil("9999 ");
    ASSERT_EQ(lines.size(), 10'000u);
    for (uint64_t i = 0; i < lines.size(); ++i) {
      EXPECT_EQ(lines[i] + '\n', Line(i));
    }
  });
  for (uint64_t i = 0; i < 10'000; ++i) writer.Write(Line(i));
  EXPECT_TRUE(writer.Flush(kPatience));
  EXPECT_TRUE(writer.AwaitWritten(absl::ZeroDuration()));
  reader.join();
  EXPECT_EQ(writer.dropped(), 0u);
}

TEST(LogWriter, DropsLinesOfAFullPipeAndReportsTheirNumber) {
  Pipe pipe;
  LogWriter writer(pipe.writer(), Notice);
  constexpr uint64_t kLines = 50'000;  // 5 MB; no call may block
  for (uint64_t i = 0; i < kLines; ++i) writer.Write(Line(i));
  const uint64_t dropped = writer.dropped();
  EXPECT_GT(dropped, 0u);
  EXPECT_FALSE(writer.Flush(absl::Milliseconds(1)));
  EXPECT_FALSE(writer.AwaitWritten(absl::Milliseconds(1)));

  // A notice stands in the place of dropped lines and has their number.
  uint64_t next = 0;
  uint64_t told = 0;
  while (next < kLines && !HasFailure()) {
    const std::string line = pipe.ReadLine();
    if (line.starts_with("notice ")) {
      const uint64_t missing = std::stoull(line.substr(7));
      told += missing;
      next += missing;
    } else {
      EXPECT_EQ(line + '\n', Line(next++));
    }
  }
  EXPECT_EQ(told, dropped);
  EXPECT_EQ(next, kLines);
  EXPECT_GT((next - told + 1) * Line(0).size(), LogWriter::kMaxWaitingBytes);

  ASSERT_TRUE(writer.Flush(kPatience));
  writer.Write("after\n");
  EXPECT_EQ(pipe.ReadUntil("after"), std::vector<std::string>{"after"});
  EXPECT_EQ(writer.dropped(), dropped);
}

TEST(LogWriter, DropsALineThatIsTooLong) {
  Pipe pipe;
  LogWriter writer(pipe.writer(), Notice);
  writer.Write(Line(0, LogWriter::kMaxWaitingBytes + 1));
  EXPECT_EQ(pipe.ReadUntil("notice"), std::vector<std::string>{"notice 1"});
}

TEST(LogWriter, DestructorDoesNotWaitForABlockedWrite) {
  Pipe pipe;
  {
    LogWriter writer(pipe.writer(), Notice);
    for (uint64_t i = 0; i < 1'000; ++i) writer.Write(Line(i));
    EXPECT_FALSE(writer.Flush(absl::Milliseconds(1)));
  }  // the destructor returns
  // Each line in the pipe is complete.
  for (const std::string& line : pipe.ReadUntil("500 ")) {
    EXPECT_EQ(line.size(), 99u);
  }
}

TEST(LogWriter, CountsFailedWrites) {
  Pipe pipe;
  LogWriter writer(pipe.writer(), Notice);
  pipe.CloseReader();
  for (uint64_t i = 0; i < 10; ++i) writer.Write(Line(i));
  EXPECT_TRUE(writer.Flush(kPatience)) << "it does not try for ever";
  EXPECT_EQ(writer.dropped(), 10u);
}

TEST(LogWriter, WaitsForANonBlockingDescriptor) {
  Pipe pipe;
  ASSERT_EQ(fcntl(pipe.writer(), F_SETFL, O_WRONLY | O_NONBLOCK), 0);
  LogWriter writer(pipe.writer(), Notice);
  for (uint64_t i = 0; i < 5'000; ++i) writer.Write(Line(i));
  EXPECT_FALSE(writer.Flush(absl::Milliseconds(1))) << "the pipe is full";
  EXPECT_EQ(pipe.ReadUntil("4999 ").size(), 5'000u);
  EXPECT_TRUE(writer.Flush(kPatience));
  EXPECT_EQ(writer.dropped(), 0u);
}

TEST(LogWriter, KeepsLinesOfTwoProgramsApart) {
  Pipe pipe;
  LogWriter one(pipe.writer(), Notice);
  LogWriter other(pipe.writer(), Notice);
  std::thread reader([&] {
    for (const char* last : {"end", "end"}) {
      for (const std::string& line : pipe.ReadUntil(last)) {
        if (line == "end") continue;
        EXPECT_EQ(line.size(), 99u);
        EXPECT_EQ(line, std::string(99, line.front()));
      }
    }
  });
  for (int i = 0; i < 5'000; ++i) {
    one.Write(std::string(99, 'a') + '\n');
    other.Write(std::string(99, 'b') + '\n');
  }
  one.Write("end\n");
  other.Write("end\n");
  reader.join();
}

// A file that refuses to grow beyond a size, as on a full disk.
class SmallDisk {
 public:
  SmallDisk() : file_(memfd_create("log", MFD_CLOEXEC)) {
    EXPECT_GE(file_, 0);
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, SIG_IGN);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    close(file_);
  }
  [[nodiscard]] int writer() const { return file_; }
  void Resize(rlim_t bytes) {
    const rlimit limit{bytes, before_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  std::string Text() {
    std::string text(1 << 20, '\0');
    const ssize_t count = pread(file_, text.data(), text.size(), 0);
    text.resize(count > 0 ? static_cast<size_t>(count) : 0);
    return text;
  }

 private:
  const int file_;
  rlimit before_{};
};

TEST(LogWriter, LineThatTheDiskCutsStaysAloneAndIsCounted) {
  SmallDisk disk;
  LogWriter writer(disk.writer(), Notice);
  disk.Resize(250);
  for (int i = 0; i < 5; ++i) {
    writer.Write(Line(i));
    ASSERT_TRUE(writer.Flush(kPatience));
  }
  EXPECT_EQ(writer.dropped(), 3u);
  disk.Resize(RLIM_INFINITY);
  writer.Write(Line(5));
  ASSERT_TRUE(writer.Flush(kPatience));
  EXPECT_EQ(disk.Text(), Line(0) + Line(1) + Line(2).substr(0, 50) + "\n" +
                             Line(5) + Notice(3));
  EXPECT_EQ(writer.dropped(), 3u);
}

// A disk that takes a part of a piece has taken the lines in that part.
TEST(LogWriter, LinesBeforeTheCutDoNotCount) {
  SmallDisk disk;
  LogWriter writer(disk.writer(), Notice);
  disk.Resize(250);
  std::string lines;
  for (int i = 0; i < 5; ++i) lines += Line(i);
  writer.Write(lines);
  ASSERT_TRUE(writer.Flush(kPatience));
  EXPECT_EQ(writer.dropped(), 3u);
}

}  // namespace
}  // namespace actord::daemon
