// The daemon's own use of its machine, and that of all programs.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/system/cgroup.h"

namespace actord::daemon {

struct OwnUse {
  uint64_t resident_bytes = 0;  // 0: not known
  uint64_t cpu_ns = 0;          // of all threads, since the start
  // ReadOwnUse does not set the rest.
  int cpus = 0;  // processors that the daemon may use
  // The nearest limit on memory; nullopt: there is none.
  std::optional<runtime::MemoryUse> memory;
  // nullopt: there is no store.
  std::optional<uint64_t> store_disk_free_bytes;
};
OwnUse ReadOwnUse();

// What all programs of the machine use together; nullopt: not known.
struct MachineUse {
  // Threads that ran or waited for a processor or a disk, a mean over a minute.
  std::optional<double> load;
  std::optional<uint64_t> memory_bytes;
  // Memory that programs could have without swapping.
  std::optional<uint64_t> memory_free_bytes;
};
MachineUse ReadMachineUse();

}  // namespace actord::daemon
