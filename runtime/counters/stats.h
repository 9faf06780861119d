// The state of the runtime in numbers.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/counters/counter_table.h"

namespace actord::runtime {

enum class RunState { kStarting, kServing, kDraining, kStopped };

// The counters of one worker (WorkerCounters), and the size of its queue now.
struct WorkerStats {
  uint64_t turns = 0;     // turns that ran a process
  uint64_t steals = 0;    // times that it stole processes
  uint64_t wake_ups = 0;  // sleeps that have ended
  uint64_t hand_overs = 0;
  uint64_t ready = 0;  // processes in its queue, of all levels
};

// A process type with a limit on its live processes.
struct LimitedType {
  std::string name;
  uint64_t live = 0;
  uint64_t max = 0;
  uint64_t refused = 0;  // processes, since the start
};

// Counters since the start, and sizes now: one field for each row of
// counter_table.h. Each value is exact, but for a worker's turns
// (worker_counters.h). The values are not of the same instant.
struct RuntimeStats {
  RunState state = RunState::kStarting;
  uint32_t node = 0;
  uint32_t incarnation = 0;
  int workers = 0;
  std::vector<WorkerStats> of_workers;
  std::vector<LimitedType> of_limited_types;  // by name
  // External yields to whose commands no worker is subscribed.
  uint64_t external_yields_unserved = 0;
  uint64_t blocking_running = 0;  // jobs that the blocking pool runs

#define ACTORD_STAT(member, ...) uint64_t member = 0;
  ACTORD_COUNTERS(ACTORD_STAT, ACTORD_STAT, ACTORD_STAT)
#undef ACTORD_STAT
};

}  // namespace actord::runtime
