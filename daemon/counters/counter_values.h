// All counters of the daemon and its runtime, by one walk over both tables.
//
// Thread-safety: constants and pure functions.
#pragma once

#include "daemon/counters/counter_table.h"
#include "daemon/counters/stats.h"
#include "runtime/counters/counter_info.h"

namespace actord::daemon {

#define ACTORD_DAEMON_TOTAL(...) ACTORD_TOTAL_ROW(DaemonStats, __VA_ARGS__)
#define ACTORD_DAEMON_GAUGE(...) ACTORD_GAUGE_ROW(DaemonStats, __VA_ARGS__)
inline constexpr runtime::CounterRow<DaemonStats> kDaemonCounterRows[] = {
    ACTORD_DAEMON_COUNTERS(ACTORD_DAEMON_TOTAL, ACTORD_DAEMON_GAUGE)};
#undef ACTORD_DAEMON_TOTAL
#undef ACTORD_DAEMON_GAUGE

// Calls `visit(const runtime::CounterInfo& info, uint64_t value)` for each
// counter, the runtime's counters first.
template <typename Visit>
void ForEachCounter(const runtime::RuntimeStats& of_runtime,
                    const DaemonStats& of_daemon, Visit visit) {
  for (const auto& row : runtime::kCounterRows) {
    visit(row.info, of_runtime.*row.value);
  }
  for (const auto& row : kDaemonCounterRows) {
    visit(row.info, of_daemon.*row.value);
  }
}

}  // namespace actord::daemon
