#include "runtime/system/cpu_count.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace actord::runtime {
namespace {

namespace fs = std::filesystem;

// A made-up machine: files below a folder of its own.
class CpuCount : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (fs::temp_directory_path() / "cpu_count.XXXXXX");
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

TEST_F(CpuCount, WithoutCgroupsThereIsNoLimit) {
  EXPECT_EQ(CgroupCpuLimit(root_), 0);
}

TEST_F(CpuCount, AQuotaIsRoundedUpToWholeCpus) {
  Write("/proc/self/cgroup", "0::/app\n");
  const std::pair<const char*, int> cases[] = {
      {"max 100000\n", 0},    {"100000 100000\n", 1}, {"150000 100000\n", 2},
      {"50000 100000\n", 1},  {"1000 100000\n", 1},   {"200000 100000\n", 2},
      {"200001 100000\n", 3}, {"400000 50000\n", 8},  {"", 0},
      {"nonsense\n", 0},      {"100000\n", 0},        {"-1 100000\n", 0},
      {"100000 0\n", 0},      {"x 100000\n", 0}};
  for (const auto& [text, expected] : cases) {
    Write("/sys/fs/cgroup/app/cpu.max", text);
    EXPECT_EQ(CgroupCpuLimit(root_), expected) << text;
  }
}

TEST_F(CpuCount, TheTightestAncestorCounts) {
  Write("/proc/self/cgroup", "0::/a/b/c\n");
  Write("/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
  Write("/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
  Write("/sys/fs/cgroup/a/cpu.max", "500000 100000\n");
  EXPECT_EQ(CgroupCpuLimit(root_), 3);
  // Within a container the mount itself is the container's group.
  Write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(CgroupCpuLimit(root_), 2);
}

TEST_F(CpuCount, TheRootGroupCountsAlone) {
  Write("/proc/self/cgroup", "0::/\n");
  Write("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(CgroupCpuLimit(root_), 4);
}

TEST_F(CpuCount, VersionOneIsReadAsWell) {
  Write("/proc/self/cgroup",
        "12:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n1:name=systemd:/\n");
  Write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us", "250000\n");
  Write("/sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CgroupCpuLimit(root_), 3);
  Write("/sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "100000\n");
  Write("/sys/fs/cgroup/cpu/docker/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CgroupCpuLimit(root_), 1);
  Write("/sys/fs/cgroup/cpu/docker/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(CgroupCpuLimit(root_), 3);
}

TEST_F(CpuCount, OtherControllersDoNotCount) {
  Write("/proc/self/cgroup", "4:cpuset:/x\n5:cpuacct:/x\n");
  Write("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "100000\n");
  Write("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CgroupCpuLimit(root_), 0);
}

TEST_F(CpuCount, TighterLimitOfBothCgroupVersionsCounts) {
  Write("/proc/self/cgroup", "4:cpu:/x\n0::/y\nnonsense\n");
  Write("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "300000\n");
  Write("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/y/cpu.max", "500000 100000\n");
  EXPECT_EQ(CgroupCpuLimit(root_), 3);
}

TEST_F(CpuCount, TheAffinityOfTheThreadCounts) {
  // In a thread of its own, because the mask is the thread's.
  std::thread([] {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    EXPECT_GE(UsableCpuCount(), 1);
    EXPECT_LE(UsableCpuCount(), CPU_COUNT(&all));
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &all)) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
      EXPECT_EQ(UsableCpuCount(), 1);
      break;
    }
  }).join();
}

}  // namespace
}  // namespace actord::runtime
