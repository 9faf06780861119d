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

}  // namespace
}  // namespace actord::runtime
