// The daemon's own use of its machine.
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

}  // namespace actord::daemon
