// The number of CPUs that this process may use.
#pragma once

#include <string>

namespace actord::runtime {

// min(CPUs of the affinity mask, ceil(cgroup CPU quota)), at least 1. The
// quotas of all ancestors count, in cgroup v2 (`cpu.max`) and v1
// (`cpu.cfs_quota_us`). A file that cannot be read imposes no limit.
int UsableCpuCount();

// The cgroup part, for files below `root` ("" in production): the smallest
// quota in CPUs, rounded up; 0 when there is none.
int CgroupCpuLimit(const std::string& root);

}  // namespace actord::runtime
