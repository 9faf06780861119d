#include "bench/processes/spawn.h"

#include "bench/bench_runtime.h"
#include "bench/workload.h"

namespace actord::bench {

// An operation is one child: it is spawned, receives a message, sends to the
// sink, and ends.
Json RunSpawn(const WorkloadOptions& options) {
  const SpawnInput input = {
      .children = 1'000'000, .each_step = 64, .at_a_time = 16'000};
  BenchRuntime runtime(options.Runtime());
  const Stopwatch stopwatch;
  const auto root = runtime.Submit(Spawner::kName, BytesOf(input));
  const auto sum = ReadAs<int64_t>(runtime.Await(root));
  const double seconds = stopwatch.Seconds();
  Expect("the sum of the children's numbers",
         static_cast<uint64_t>(input.children * (input.children - 1) / 2),
         static_cast<uint64_t>(sum));
  // One message to each child, one from each child, and four reports of the
  // sink for every `at_a_time` children. The final report is one of them.
  const int64_t reports = input.children / (input.at_a_time / 4);
  runtime.ExpectMessages(static_cast<uint64_t>(2 * input.children + reports));
  return Figures(input.children, seconds);
}

}  // namespace actord::bench
