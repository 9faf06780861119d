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

// Calls `visit` with the folders of this process's group and of its ancestors.
template <typename Visit>
void VisitFolders(const std::string& root, Visit visit) {
  const std::string version_2 = "0::";
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with(version_2)) continue;
    VisitGroupAndAncestors(root + "/sys/fs/cgroup",
                           line.substr(version_2.size()), visit);
    return;
  }
}

// The value of `key` in a file of lines "key number"; 0: there is none.
uint64_t ValueOf(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  std::string name;
  uint64_t value = 0;
  while (file >> name >> value) {
    if (name == key) return value;
  }
  return 0;
}

// nullopt: the group has no limit, or one of its files cannot be read.
std::optional<MemoryUse> UseOf(const std::string& folder) {
  const std::optional<uint64_t> limit = LimitOf(folder);
  std::ifstream file(folder + "/memory.current");
  uint64_t bytes = 0;
  if (!limit || !(file >> bytes)) return std::nullopt;
  const uint64_t droppable = ValueOf(folder + "/memory.stat", "inactive_file");
  return MemoryUse{bytes - std::min(bytes, droppable), *limit};
}

}  // namespace

std::optional<uint64_t> CgroupMemoryLimit(const std::string& root) {
  std::optional<uint64_t> smallest;
  VisitFolders(root, [&](const std::string& folder) {
    if (const auto limit = LimitOf(folder)) {
      smallest = std::min(*limit, smallest.value_or(UINT64_MAX));
    }
  });
  return smallest;
}

CgroupMemory::CgroupMemory(const std::string& root) {
  VisitFolders(root, [this](const std::string& folder) {
    if (UseOf(folder)) folders_.push_back(folder);
  });
}

std::optional<MemoryUse> CgroupMemory::Read() const {
  std::optional<MemoryUse> nearest;
  for (const std::string& folder : folders_) {
    const std::optional<MemoryUse> use = UseOf(folder);
    if (use && (!nearest || IsNearer(*use, *nearest))) nearest = use;
  }
  return nearest;
}

}  // namespace actord::runtime
