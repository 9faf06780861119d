#include "runtime/system/cgroup.h"

#include <algorithm>
#include <fstream>

namespace actord::runtime {
namespace {

// A file holds a number of bytes, or "max".
std::optional<uint64_t> LimitOf(const std::string& folder) {
  std::ifstream file(folder + "/memory.max");
  uint64_t bytes = 0;
  if (!(file >> bytes)) return std::nullopt;
  return bytes;
}

}  // namespace

std::optional<uint64_t> CgroupMemoryLimit(const std::string& root) {
  const std::string version_2 = "0::";
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string group;
  bool is_found = false;
  for (std::string line; !is_found && std::getline(groups, line);) {
    is_found = line.starts_with(version_2);
    if (is_found) group = line.substr(version_2.size());
  }
  if (!is_found) return std::nullopt;
  std::optional<uint64_t> smallest;
  VisitGroupAndAncestors(
      root + "/sys/fs/cgroup", group, [&](const std::string& folder) {
        if (const auto limit = LimitOf(folder)) {
          smallest = std::min(*limit, smallest.value_or(UINT64_MAX));
        }
      });
  return smallest;
}

}  // namespace actord::runtime
