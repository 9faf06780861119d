// The control group of this process, and its limit of memory. cpu_count.h has
// the limit of processors.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace actord::runtime {

// The limit of cgroup v2 (`memory.max`) for files below `root` ("" in
// production): the smallest of the process's group and its ancestors. nullopt:
// there is no limit, or no file of it can be read.
std::optional<uint64_t> CgroupMemoryLimit(const std::string& root);

// Calls `visit` with the folder of `group` and with those of its ancestors, up
// to `mount`. `group`: as a line of /proc/self/cgroup ends, "/a/b" or "/".
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
