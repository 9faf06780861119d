#include "bench/process_usage.h"

#include <time.h>
#include <unistd.h>

#include <fstream>

#include "bench/bench_runtime.h"

namespace actord::bench {

double CpuSeconds() {
  timespec time = {};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) {
    Fail("cannot read the processor time");
  }
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

int64_t ResidentBytes() {
  // In pages: the size of the address space, then the resident part.
  int64_t size = 0;
  int64_t resident = 0;
  if (!(std::ifstream("/proc/self/statm") >> size >> resident)) {
    Fail("cannot read the resident memory");
  }
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace actord::bench
