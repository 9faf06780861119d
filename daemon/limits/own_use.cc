#include "daemon/limits/own_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace actord::daemon {

OwnUse ReadOwnUse() {
  OwnUse own;
  std::ifstream statm("/proc/self/statm");
  uint64_t total_pages = 0;
  uint64_t resident_pages = 0;
  if (statm >> total_pages >> resident_pages) {
    own.resident_bytes =
        resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }
  rusage use{};
  if (getrusage(RUSAGE_SELF, &use) == 0) {
    const auto ns = [](const timeval& time) {
      constexpr uint64_t kNsPerSecond = 1'000'000'000;
      constexpr uint64_t kNsPerMicro = 1'000;
      return static_cast<uint64_t>(time.tv_sec) * kNsPerSecond +
             static_cast<uint64_t>(time.tv_usec) * kNsPerMicro;
    };
    own.cpu_ns = ns(use.ru_utime) + ns(use.ru_stime);
  }
  return own;
}

}  // namespace actord::daemon
