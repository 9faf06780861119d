#include "bench/processes/ring.h"

#include "bench/bench_runtime.h"
#include "bench/workload.h"

namespace actord::bench {

// An operation is one hop of the number.
Json RunRing(const WorkloadOptions& options) {
  const RingInput input = {
      .rings = 1, .nodes = 1000, .hops = 2'000'000, .held_back = false};
  BenchRuntime runtime(options.Runtime());
  const Stopwatch stopwatch;
  const auto root = runtime.Submit(RingRoot::kName, BytesOf(input));
  const auto done = ReadAs<int64_t>(runtime.Await(root));
  const double seconds = stopwatch.Seconds();
  Expect("the count of rings", 1, static_cast<uint64_t>(done));
  // Each number from `hops` down to 0, the "next" of the first node, and the
  // last one's "done".
  runtime.ExpectMessages(static_cast<uint64_t>(input.hops + 1 + 2));
  return Figures(input.hops, seconds);
}

}  // namespace actord::bench
