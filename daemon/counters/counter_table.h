// The table of the counters that the runtime does not know. The rows are as in
// runtime/counters/counter_table.h, without the kind LANE; `member` is the
// field of DaemonStats.
#pragma once

// clang-format off
#define ACTORD_DAEMON_COUNTERS(TOTAL, GAUGE) \
  GAUGE(streams_open, "streams_open", "calls", \
        "Open calls of Work, SendStream, SubmitStream and WatchProcesses.") \
  TOTAL(log_lines_dropped, "log_lines_dropped_total", "lines", \
        "Lines of the log that were dropped because standard error was " \
        "closed, or was not read fast enough.")
// clang-format on
