// The control group of this process, and its limit of memory. cpu_count.h has
// the limit of processors.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actord::runtime {

// The limit of cgroup v2 (`memory.max`) for files below `root` ("" in
// production): the smallest of the process's group and its ancestors. nullopt:
// there is no limit, or none of its files can be read.
std::optional<uint64_t> CgroupMemoryLimit(const std::string& root);

struct MemoryUse {
  uint64_t bytes = 0;
  uint64_t limit = 0;
  bool operator==(const MemoryUse&) const = default;
};

// Whether `a` has used a larger part of its limit than `b`.
inline bool IsNearer(const MemoryUse& a, const MemoryUse& b) {
  return static_cast<double>(a.bytes) * static_cast<double>(b.limit) >
         static_cast<double>(b.bytes) * static_cast<double>(a.limit);
}

// The use of memory by the groups that have a limit.
class CgroupMemory {
 public:
  // Finds the groups once. `root` as above.
  explicit CgroupMemory(const std::string& root);

  [[nodiscard]] bool is_limited() const { return !folders_.empty(); }
  // The group that has used the largest part of its limit. Pages of files that
  // the kernel can drop at once do not count. nullopt: no group has a limit, or
  // none of the files can be read.
  [[nodiscard]] std::optional<MemoryUse> Read() const;

 private:
  std::vector<std::string> folders_;
};

// Calls `visit` with the folder of `group` and the folders of its ancestors, up
// to `mount`. `group`: the end of a line of /proc/self/cgroup, such as "/a/b"
// or "/".
template <typename Visit>
void VisitGroupAndAncestors(const std::string& mount, std::string group,
                            Visit visit) {
  if (group == "/") group.clear();
  for (;;) {
    visit(mount + group);
    const size_t slash = group.rfind('/');
    if (group.empty() || slash == std::string::npos) return;
    group.resize(slash);
  }
}

}  // namespace actord::runtime
