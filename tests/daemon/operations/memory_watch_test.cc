#include "daemon/operations/memory_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

namespace fs = std::filesystem;

class MemoryWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (fs::temp_directory_path() / "memory.XXXXXX");
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    root_ = folder;
    Write("/proc/self/cgroup", "0::/\n");
    Write("/sys/fs/cgroup/memory.max", "1000\n");
    UseOfGroup(0);
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const fs::path full = root_ + path;
    fs::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  void UseOfGroup(int bytes) {
    Write("/sys/fs/cgroup/memory.current", absl::StrCat(bytes, "\n"));
  }
  MemoryWatch MakeWatch(uint64_t max_address_space) {
    return {{.groups = runtime::CgroupMemory(root_),
             .max_address_space = max_address_space,
             .free_in_allocator = [] { return free_bytes_; }},
            root_,
            [this](bool low) { told_.push_back(low); },
            logger_};
  }

  static inline uint64_t free_bytes_ = 0;
  Logger logger_{LogFormat::kConsole, runtime::LogLevel::kError};
  std::string root_;
  std::vector<bool> told_;
};

using Told = std::vector<bool>;

TEST_F(MemoryWatchTest, IsLowFrom85PercentUntilBelow80) {
  MemoryWatch watch = MakeWatch(0);
  UseOfGroup(849);
  watch.Look();
  EXPECT_EQ(told_, Told{});
  UseOfGroup(850);
  watch.Look();
  EXPECT_EQ(told_, Told({true}));
  UseOfGroup(800);
  watch.Look();
  EXPECT_EQ(told_, Told({true}));
  UseOfGroup(799);
  watch.Look();
  EXPECT_EQ(told_, Told({true, false}));
  UseOfGroup(2000);
  watch.Look();
  EXPECT_EQ(told_, Told({true, false, true}));
}

TEST_F(MemoryWatchTest, TheAddressSpaceCountsToo) {
  const long page = sysconf(_SC_PAGESIZE);
  MemoryWatch watch = MakeWatch(static_cast<uint64_t>(100 * page));
  Write("/proc/self/statm", "84 1 1 1 0 1 0\n");
  watch.Look();
  EXPECT_EQ(told_, Told{});
  Write("/proc/self/statm", "86 1 1 1 0 1 0\n");
  watch.Look();
  EXPECT_EQ(told_, Told({true}));
  // Memory that the allocator can use again does not count as used.
  free_bytes_ = static_cast<uint64_t>(7 * page);
  watch.Look();
  EXPECT_EQ(told_, Told({true, false}));
  free_bytes_ = 0;
  // The nearer of two limits counts.
  Write("/proc/self/statm", "20 1 1 1 0 1 0\n");
  UseOfGroup(900);
  watch.Look();
  EXPECT_EQ(told_, Told({true, false, true}));
}

TEST_F(MemoryWatchTest, FilesThatCannotBeReadChangeNothing) {
  MemoryWatch watch = MakeWatch(0);
  UseOfGroup(900);
  watch.Look();
  Write("/sys/fs/cgroup/memory.current", "");
  watch.Look();
  EXPECT_EQ(told_, Told({true}));
}

TEST_F(MemoryWatchTest, ThreadLooksAndEnds) {
  UseOfGroup(900);
  std::promise<bool> told;
  {
    MemoryWatch watch(
        {.groups = runtime::CgroupMemory(root_)}, root_,
        [&told](bool low) { told.set_value(low); }, logger_);
    ASSERT_TRUE(watch.Start().ok());
    EXPECT_TRUE(told.get_future().get());
  }
}

}  // namespace
}  // namespace actord::daemon
