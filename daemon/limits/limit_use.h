// How much of each limit is used. Each limit that can refuse work is a row.
//
// Thread-safety: pure functions. Ownership: values own their contents; the
// texts of a row live as long as the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/counters/stats.h"
#include "daemon/settings/config.h"
#include "runtime/counters/stats.h"
#include "runtime/settings/limits.h"
#include "runtime/system/cgroup.h"

namespace actord::daemon {

// A row of the table of limits.
struct LimitRow {
  const char* name;      // "processes"
  const char* setting;   // "limits.max_processes"
  const char* unit;      // of used and max, or of the refusals
  const char* at_limit;  // "new processes are refused with PROCESS_LIMIT"
  const char* remedy;    // what makes room
  // The part of the daemon that enforces the limit logs that it is reached.
  bool is_logged_elsewhere = false;
  // Nobody can raise it.
  bool is_fixed = false;
  // Readiness has a note of its own.
  bool has_own_note = false;
  // A new value of `setting` holds from the next start on, not from SIGHUP on.
  bool needs_restart = false;
};

struct LimitUse {
  const LimitRow* row = nullptr;
  std::string type = {};  // of the limit of one process type
  // nullopt: a limit of each process, or of each client.
  std::optional<uint64_t> used;
  // nullopt: the limit differs between them, or is not a number of `unit`.
  std::optional<uint64_t> max;
  uint64_t refused = 0;   // since the start
  bool is_full = false;   // there is no room at this moment
  bool is_unset = false;  // nobody has set the limit: it refuses nothing
};

struct LimitSources {
  runtime::RuntimeStats of_runtime;
  DaemonStats of_daemon;
  runtime::Limits limits;
  uint64_t max_connections = 0;
  uint64_t max_connections_per_address = 0;
  // A number is 0 if no client has this quota.
  QuotaSettings quotas;
  // nullopt: the system has no limit.
  std::optional<runtime::MemoryUse> memory;
  bool is_memory_low = false;
  // nullopt: there is no store.
  std::optional<bool> is_store_full;
};

// Always the same rows in the same order, as long as the daemon has a store or
// has none.
std::vector<LimitUse> ReadLimitUse(const LimitSources& sources);

// "processes", "processes of type order".
std::string LimitUseName(const LimitUse& use);

// What is refused: "new processes of type order are refused with
// PROCESS_LIMIT".
std::string AtLimitText(const LimitUse& use);

// What to do: "Raise limits.max_processes_per_type, which needs a restart;
// actorctl ps --type order lists them".
std::string RemedyText(const LimitUse& use);

// "1000 of 1000 processes"; without `used`: "37 events refused so far".
std::string LimitUseText(const LimitUse& use);

}  // namespace actord::daemon
