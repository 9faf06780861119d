#include "runtime/system/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace actord::runtime {
namespace {

namespace fs = std::filesystem;

// A made-up machine: files below a folder of its own.
class MemoryLimit : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (fs::temp_directory_path() / "cgroup.XXXXXX");
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    root_ = folder;
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const fs::path full = root_ + path;
    fs::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }

  std::string root_;
};

TEST_F(MemoryLimit, WithoutCgroupsThereIsNone) {
  EXPECT_EQ(CgroupMemoryLimit(root_), std::nullopt);
}

TEST_F(MemoryLimit, IsReadFromTheGroup) {
  Write("/proc/self/cgroup", "4:memory:/old\n0::/app\n");
  EXPECT_EQ(CgroupMemoryLimit(root_), std::nullopt);
  Write("/sys/fs/cgroup/app/memory.max", "max\n");
  EXPECT_EQ(CgroupMemoryLimit(root_), std::nullopt);
  Write("/sys/fs/cgroup/app/memory.max", "268435456\n");
  EXPECT_EQ(CgroupMemoryLimit(root_), 268435456u);
}

TEST_F(MemoryLimit, IsTheSmallestOfAllAncestors) {
  Write("/proc/self/cgroup", "0::/a/b/c\n");
  Write("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
  Write("/sys/fs/cgroup/a/b/memory.max", "3000\n");
  Write("/sys/fs/cgroup/a/memory.max", "5000\n");
  EXPECT_EQ(CgroupMemoryLimit(root_), 3000u);
}

TEST_F(MemoryLimit, InAContainerTheGroupIsTheRoot) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/memory.max", "7000\n");
  EXPECT_EQ(CgroupMemoryLimit(root_), 7000u);
}

TEST_F(MemoryLimit, UseIsThatOfTheNearestGroup) {
  Write("/proc/self/cgroup", "0::/a/b\n");
  EXPECT_FALSE(CgroupMemory(root_).is_limited());
  Write("/sys/fs/cgroup/a/b/memory.max", "1000\n");
  Write("/sys/fs/cgroup/a/b/memory.current", "700\n");
  Write("/sys/fs/cgroup/a/memory.max", "10000\n");
  Write("/sys/fs/cgroup/a/memory.current", "8000\n");
  const CgroupMemory memory(root_);
  ASSERT_TRUE(memory.is_limited());
  EXPECT_EQ(memory.Read()->bytes, 8000u);
  EXPECT_EQ(memory.Read()->limit, 10000u);
  // Pages that the kernel can drop do not count.
  Write("/sys/fs/cgroup/a/memory.stat", "anon 100\ninactive_file 3000\n");
  EXPECT_EQ(memory.Read()->bytes, 700u);
  EXPECT_EQ(memory.Read()->limit, 1000u);
  // The limit may change while the daemon runs.
  Write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(memory.Read()->bytes, 5000u);
  Write("/sys/fs/cgroup/a/memory.current", "");
  EXPECT_EQ(memory.Read(), std::nullopt);
}

}  // namespace
}  // namespace actord::runtime
