#include "runtime/system/cpu_latency.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "runtime/process/catalog.h"
#include "runtime/runtime.h"

namespace actord::runtime {
namespace {

using ::testing::HasSubstr;

// A file in place of the device.
class CpuLatencyTest : public ::testing::Test {
 protected:
  CpuLatencyTest() { std::ofstream file(path_); }
  ~CpuLatencyTest() override { std::filesystem::remove(path_); }

  [[nodiscard]] std::string Written() const {
    std::ostringstream text;
    text << std::ifstream(path_, std::ios::binary).rdbuf();
    return text.str();
  }
  // How often this program has it open.
  [[nodiscard]] int TimesOpen() const {
    int count = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;  // the iterator's own
      count += std::filesystem::read_symlink(entry, gone) == path_ ? 1 : 0;
    }
    return count;
  }

  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() /
      ("actord_cpu_latency." + std::to_string(getpid()));
};

TEST_F(CpuLatencyTest, IsWrittenInMicrosecondsAndHeldWhileItLives) {
  for (const auto& [most, us] : {std::pair{absl::ZeroDuration(), 0},
                                 std::pair{absl::Nanoseconds(2'999), 2},
                                 std::pair{CpuLatency::kMost, 1'000'000}}) {
    std::ofstream(path_, std::ios::trunc).flush();
    auto request = CpuLatency::Request(most, path_.c_str());
    ASSERT_TRUE(request.ok()) << request.status();
    const std::string written = Written();
    int32_t value = -1;
    ASSERT_EQ(written.size(), sizeof(value));
    std::memcpy(&value, written.data(), sizeof(value));
    EXPECT_EQ(value, us);
    EXPECT_EQ(TimesOpen(), 1);
    request->reset();
    EXPECT_EQ(TimesOpen(), 0);
  }
}

TEST_F(CpuLatencyTest, FileThatCannotBeWrittenIsNamed) {
  const std::string missing = path_.string() + ".missing";
  auto request = CpuLatency::Request(absl::ZeroDuration(), missing.c_str());
  EXPECT_EQ(request.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(request.status().message()),
              HasSubstr("cannot open " + missing + ": No such file"));
  // Everything that is written there is lost for want of room.
  request = CpuLatency::Request(absl::ZeroDuration(), "/dev/full");
  EXPECT_EQ(request.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(request.status().message()),
              HasSubstr("cannot write to /dev/full: No space left"));
}

// What the kernel heeds is the shortest of all wishes. Without the right to the
// device there is no runtime.
TEST_F(CpuLatencyTest, ARuntimeHoldsTheRequestWhileItLives) {
  const Catalog catalog;
  RuntimeOptions options;
  options.workers = 1;
  options.cpu_latency = absl::Microseconds(7);
  const int device = open(CpuLatency::kDevice, O_RDWR | O_CLOEXEC);
  if (device < 0) {
    EXPECT_EQ(Runtime::Create(options, catalog).status().code(),
              absl::StatusCode::kFailedPrecondition);
    return;
  }
  // This descriptor is a wish, too: the longest.
  const auto in_force_us = [device] {
    int32_t us = -1;
    EXPECT_EQ(pread(device, &us, sizeof(us), 0), ssize_t{sizeof(us)});
    return us;
  };
  const int32_t before_us = in_force_us();
  if (before_us <= 7) GTEST_SKIP() << "somebody else wishes for less";
  {
    const auto runtime = Runtime::Create(options, catalog);
    ASSERT_TRUE(runtime.ok()) << runtime.status();
    EXPECT_EQ(in_force_us(), 7);
  }
  EXPECT_EQ(in_force_us(), before_us);
  close(device);
}

}  // namespace
}  // namespace actord::runtime
