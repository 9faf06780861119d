#include "daemon/settings/bounded_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/settings/config.h"
#include "daemon/settings/config_file.h"

namespace actord::daemon {
namespace {

class BoundedFile : public ::testing::Test {
 protected:
  BoundedFile() { EXPECT_NE(mkdtemp(directory_.data()), nullptr); }
  ~BoundedFile() override { std::filesystem::remove_all(directory_); }

  std::string Write(const std::string& text) {
    const std::string path = directory_ + "/file";
    std::ofstream(path) << text;
    return path;
  }

  std::string directory_ = ::testing::TempDir() + "actord_file_XXXXXX";
};

// The error for a file that may have `max_bytes`; "": there is none.
std::string Complaint(const std::string& path, FileReading reading,
                      size_t max_bytes) {
  return std::string(ReadBoundedFile(path, reading, max_bytes, "the limit")
                         .status()
                         .message());
}

TEST_F(BoundedFile, IsReadIfItIsWithinTheLimit) {
  for (const auto reading : {FileReading::kOnce, FileReading::kAgain}) {
    for (const size_t length : {0, 1, 4095, 4096, 4097, 10'000}) {
      const std::string text(length, 'x');
      const std::string path = Write(text);
      const auto read = ReadBoundedFile(path, reading, length, "the limit");
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(*read, text);
      if (length == 0) continue;
      EXPECT_EQ(Complaint(path, reading, length - 1).substr(0, 15),
                "is larger than ");
    }
  }
  EXPECT_EQ(Complaint(Write("12345"), FileReading::kOnce, 4),
            "is larger than 4, the limit");
}

TEST_F(BoundedFile, MayBeADevice) {
  EXPECT_EQ(Complaint("/dev/null", FileReading::kOnce, 0), "");
  EXPECT_EQ(Complaint("/dev/zero", FileReading::kOnce, 1 << 20),
            "is larger than 1MiB, the limit");
  EXPECT_EQ(Complaint("/nowhere/file", FileReading::kOnce, 1),
            "cannot be read: No such file or directory");
  EXPECT_EQ(Complaint(directory_, FileReading::kOnce, 1),
            "cannot be read: Is a directory");
}

TEST_F(BoundedFile, IsReadAgainOnlyIfItIsARegularFile) {
  const std::string pipe = directory_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/null")}) {
    EXPECT_EQ(Complaint(path, FileReading::kAgain, 1), "is not a regular file");
  }
}

TEST_F(BoundedFile, LimitOfAConfigurationIsOneMebibyte) {
  const auto load = [](const std::string& path, ConfigReading reading) {
    const Environment empty = [](const std::string&) { return std::nullopt; };
    return std::string(LoadConfig(path, {}, empty, reading).status().message());
  };
  const std::string longest = "#" + std::string(kMaxConfigFileBytes - 1, ' ');
  for (const auto reading : {ConfigReading::kFirst, ConfigReading::kAgain}) {
    EXPECT_EQ(load(Write(longest), reading), "");
    const std::string path = Write(longest + " ");
    EXPECT_EQ(load(path, reading),
              path +
                  ": is larger than 1MiB, the maximum size of a "
                  "configuration");
  }
}

}  // namespace
}  // namespace actord::daemon
