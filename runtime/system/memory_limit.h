// The memory that this process may use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace actord::runtime {

// The limit of cgroup v2 (`memory.max`) for files below `root` ("" in
// production): the smallest of the process's group and its ancestors. nullopt:
// there is no limit, or no file of it can be read.
std::optional<uint64_t> CgroupMemoryLimit(const std::string& root);

}  // namespace actord::runtime
