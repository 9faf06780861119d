// The common part of pingpong and pairs.
#pragma once

#include "bench/bench_runtime.h"
#include "bench/processes/pairs.h"
#include "bench/workload.h"

namespace actord::bench {

// An operation is one hop of the number.
inline Json Bounce(const WorkloadOptions& options, const PairsInput& input) {
  BenchRuntime runtime(options.Runtime());
  const Stopwatch stopwatch;
  const auto root = runtime.Submit(PairsRoot::kName, BytesOf(input));
  const auto received = ReadAs<int64_t>(runtime.Await(root));
  const double seconds = stopwatch.Seconds();
  // Each number from `hops` down to 0, once.
  const int64_t numbers = input.pairs * (input.hops + 1);
  Expect("the count of numbers received", static_cast<uint64_t>(numbers),
         static_cast<uint64_t>(received));
  // In addition, one "stop" and two reports for each pair.
  runtime.ExpectMessages(static_cast<uint64_t>(numbers + 3 * input.pairs));
  return Figures(input.pairs * input.hops, seconds);
}

}  // namespace actord::bench
