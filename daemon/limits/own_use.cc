#include "daemon/limits/own_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <string>

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

MachineUse ReadMachineUse() {
  MachineUse machine;
  std::ifstream loadavg("/proc/loadavg");
  if (double load = 0; loadavg >> load) machine.load = load;
  std::ifstream meminfo("/proc/meminfo");
  std::string name;
  std::string unit;
  for (uint64_t kib = 0;
       meminfo >> name >> kib && std::getline(meminfo, unit);) {
    constexpr uint64_t kBytesPerKib = 1024;
    if (name == "MemTotal:") machine.memory_bytes = kib * kBytesPerKib;
    if (name == "MemAvailable:") {
      machine.memory_free_bytes = kib * kBytesPerKib;
      break;
    }
  }
  return machine;
}

}  // namespace actord::daemon
