// The limit of open files of this program.
//
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <string>

namespace actord::daemon {

struct DescriptorLimit {
  // Before the raise, and now; UINT64_MAX: unlimited.
  uint64_t before = 0;
  uint64_t now = 0;
};

// Raises the soft limit (`ulimit -S -n`) to the hard limit (`ulimit -H -n`).
// The system keeps the soft limit low for programs that use select(), which the
// daemon does not. If the system refuses, the limit stays as it is.
DescriptorLimit RaiseDescriptorLimit();

// "the limit of open files is 524288, raised from 1024".
std::string ToText(const DescriptorLimit& limit);

}  // namespace actord::daemon
