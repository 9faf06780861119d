// How many CPUs this process may really use.
#pragma once

#include <string>

namespace actord::runtime {

// min(CPUs of the affinity mask, ceil(cgroup CPU quota)), at least 1. Every
// ancestor's quota counts, in cgroup v2 (`cpu.max`) and v1
// (`cpu.cfs_quota_us`). What cannot be read does not limit.
int UsableCpuCount();

// The cgroup part, for files below `root` ("" in production): the smallest
// quota in CPUs, rounded up; 0 when there is none.
int CgroupCpuLimit(const std::string& root);

}  // namespace actord::runtime
