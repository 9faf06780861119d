// Loads of the runtime on a Machine: operations in virtual time for a number of
// workers, and the memory that causes waits.
//
// Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/scaling/machine.h"

namespace actord::sim {

struct ScalingOptions {
  // One of ScalingLoads.
  std::string load;
  int workers = 1;
  // Cost of a step.
  uint64_t step_ns = 50;
  Machine::Costs costs;
};

struct ScalingResult {
  double operations_per_us = 0;
  double wakes_per_operation = 0;
  // For each name of memory: the share of the workers' and clients' time spent
  // waiting for it.
  std::map<std::string, double> waits;
};

// The loads. Their operation is named after the semicolon.
//
// pairs     4 pairs of processes for each worker that play ping-pong; a message
// tree      processes with 10 children each, 111,111 in all; a process
// fan-in    16 producers for each worker, a sink for every 8 workers; a message
// submit    one-step processes from outside, a client for each worker; a
// process
// continue  4 processes for each worker that always continue; a step
// ring      64 processes that pass one message on; a message
[[nodiscard]] const std::vector<std::string_view>& ScalingLoads();

// Precondition: the load is one of ScalingLoads.
[[nodiscard]] ScalingResult MeasureScaling(const ScalingOptions& options);

}  // namespace actord::sim
