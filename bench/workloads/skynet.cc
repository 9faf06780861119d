#include "bench/processes/skynet.h"

#include "bench/bench_runtime.h"
#include "bench/workload.h"

namespace actord::bench {

// An operation is one process: it is spawned, sends its sum, and ends.
Json RunSkynet(const WorkloadOptions& options) {
  constexpr int64_t kProcesses = 1'111'111;
  const SkynetInput input = {.first = 0, .leaves = 1'000'000, .children = 10};
  BenchRuntime runtime(options.Runtime());
  const Stopwatch stopwatch;
  const auto root = runtime.Submit(Skynet::kName, BytesOf(input));
  const auto sum = ReadAs<int64_t>(runtime.Await(root));
  const double seconds = stopwatch.Seconds();
  Expect("the sum of the leaves", 499'999'500'000, static_cast<uint64_t>(sum));
  // Every process except the root sends one.
  runtime.ExpectMessages(static_cast<uint64_t>(kProcesses - 1));
  return Figures(kProcesses, seconds);
}

}  // namespace actord::bench
