#include <array>
#include <vector>

#include "bench/bench_runtime.h"
#include "bench/median.h"
#include "bench/processes/pairs.h"
#include "bench/workload.h"

namespace actord::bench {
namespace {

constexpr int kRounds = 21;

// Nanoseconds a hop.
double BounceOnce(BenchRuntime& runtime, bool coroutines) {
  const PairsInput input = {
      .pairs = 1, .hops = 200'000, .coroutines = coroutines};
  const Stopwatch stopwatch;
  const auto root = runtime.Submit(PairsRoot::kName, BytesOf(input));
  const auto received = ReadAs<int64_t>(runtime.Await(root));
  const double seconds = stopwatch.Seconds();
  Expect("the count of numbers received", static_cast<uint64_t>(input.hops + 1),
         static_cast<uint64_t>(received));
  return seconds * 1e9 / static_cast<double>(input.hops);
}

}  // namespace

// An operation is one hop of the number. Both kinds alternate, so that a change
// of the machine's speed affects both. The kind that runs first alternates,
// too.
Json RunCoroutine(const WorkloadOptions& options) {
  BenchRuntime runtime(options.Runtime());
  BounceOnce(runtime, /*coroutines=*/false);
  BounceOnce(runtime, /*coroutines=*/true);
  std::array<std::vector<double>, 2> ns;
  std::vector<double> more_ns;
  for (int round = 0; round < kRounds; ++round) {
    const bool first = round % 2 != 0;
    for (const bool coroutines : {first, !first}) {
      ns[coroutines].push_back(BounceOnce(runtime, coroutines));
    }
    more_ns.push_back(ns[1].back() - ns[0].back());
  }
  return {{"step_ns_per_op", Median(ns[0])},
          {"coroutine_ns_per_op", Median(ns[1])},
          {"more_ns_per_op", Median(more_ns)}};
}

}  // namespace actord::bench
