// The state of the daemon around the runtime in numbers.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>

#include "daemon/counters/counter_table.h"

namespace actord::daemon {

// One field for each row of counter_table.h.
struct DaemonStats {
#define ACTORD_STAT(member, ...) uint64_t member = 0;
  ACTORD_DAEMON_COUNTERS(ACTORD_STAT, ACTORD_STAT)
#undef ACTORD_STAT
};

}  // namespace actord::daemon
