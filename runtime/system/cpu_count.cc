#include "runtime/system/cpu_count.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>

#include "runtime/system/cgroup.h"

namespace actord::runtime {
namespace {

// CPUs in this thread's affinity mask, also on machines with more than the
// 1024 that a plain cpu_set_t holds.
int AffinityCpuCount() {
  for (int capacity = CPU_SETSIZE; capacity <= (1 << 20); capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(capacity));
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(capacity));
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    const int count = ok ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (ok) return std::max(1, count);
  }
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

int CeilDivide(double quota, double period) {
  if (quota <= 0 || period <= 0) return 0;
  return std::max(1, static_cast<int>(std::ceil(quota / period)));
}

// "max 100000" or "150000 100000" in cgroup v2.
int QuotaOfV2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max") return 0;
  std::istringstream number(quota);
  double value = 0;
  return number >> value ? CeilDivide(value, period) : 0;
}

int QuotaOfV1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
  std::ifstream period_file(folder + "/cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (!(quota_file >> quota) || !(period_file >> period)) return 0;
  return CeilDivide(quota, period);  // -1 means unlimited
}

// The smallest quota of `group` and its ancestors below `mount`.
template <typename QuotaOf>
int SmallestQuota(const std::string& mount, const std::string& group,
                  QuotaOf quota_of) {
  int smallest = 0;
  VisitGroupAndAncestors(mount, group, [&](const std::string& folder) {
    const int quota = quota_of(folder);
    if (quota > 0) smallest = smallest == 0 ? quota : std::min(smallest, quota);
  });
  return smallest;
}

bool HasController(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == wanted) return true;
    if (comma == std::string_view::npos) break;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace

int CgroupCpuLimit(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  int limit = 0;
  // Lines are "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1).
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    int quota = 0;
    if (controllers.empty()) {
      quota = SmallestQuota(root + "/sys/fs/cgroup", group, QuotaOfV2);
    } else if (HasController(controllers, "cpu")) {
      quota = SmallestQuota(root + "/sys/fs/cgroup/cpu", group, QuotaOfV1);
    }
    if (quota > 0) limit = limit == 0 ? quota : std::min(limit, quota);
  }
  return limit;
}

int UsableCpuCount() {
  const int limit = CgroupCpuLimit("");
  const int cpus = AffinityCpuCount();
  return limit > 0 ? std::min(limit, cpus) : cpus;
}

}  // namespace actord::runtime
