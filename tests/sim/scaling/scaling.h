// Loads of the runtime on a Machine: what they do in how much virtual time with
// how many workers, and which memory they wait for.
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
  std::string load;  // one of ScalingLoads
  int workers = 1;
  uint64_t step_ns = 50;  // what a step costs
  Machine::Costs costs;
};

struct ScalingResult {
  double operations_per_us = 0;
  double wakes_per_operation = 0;
  // Part of the time of the workers and clients that they waited for memory of
  // this name.
  std::map<std::string, double> waits;
};

// pairs     4 pairs a worker that play ping-pong; a message
// tree      a process of 10 children of 10 …, 111,111 in all; a process
// fan-in    16 producers a worker, a sink for each 8 workers; a message
// submit    processes of one step from outside, by a client a worker; a process
// continue  4 processes a worker that always continue; a step
// ring      64 processes that hand one message on; a message
[[nodiscard]] const std::vector<std::string_view>& ScalingLoads();

// Precondition: the load is one of these.
[[nodiscard]] ScalingResult MeasureScaling(const ScalingOptions& options);

}  // namespace actord::sim
