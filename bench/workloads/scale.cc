// The cost of a message with a growing number of live processes. All of them
// take part: 500 numbers circulate in 500 rings, which grow.
#include <chrono>
#include <string>
#include <thread>

#include "bench/bench_runtime.h"
#include "bench/processes/ring.h"
#include "bench/workload.h"

namespace actord::bench {
namespace {

double NsPerHop(const WorkloadOptions& options, int64_t processes) {
  constexpr int64_t kRings = 500;
  const RingInput input = {.rings = kRings,
                           .nodes = processes / kRings,
                           .hops = 8000,
                           .held_back = true};
  BenchRuntime bench(options.Runtime());
  const auto root = bench.Submit(RingRoot::kName, BytesOf(input));
  // The construction of the rings is not measured.
  const auto all = static_cast<uint64_t>(processes) + 1;
  // One "next" for each ring.
  const auto built = static_cast<uint64_t>(kRings);
  while (bench.runtime().Stats().processes_live < all ||
         bench.runtime().Stats().messages_sent < built) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const Stopwatch stopwatch;
  bench.Send(root, "go", {});
  const auto done = ReadAs<int64_t>(bench.Await(root));
  const double seconds = stopwatch.Seconds();
  Expect("the count of rings", static_cast<uint64_t>(kRings),
         static_cast<uint64_t>(done));
  // In each ring the numbers from `hops` to 0, one "next" and one "done". In
  // addition, one "go".
  bench.ExpectMessages(static_cast<uint64_t>(kRings * (input.hops + 3) + 1));
  return seconds * 1e9 / static_cast<double>(kRings * input.hops);
}

}  // namespace

Json RunScale(const WorkloadOptions& options) {
  Json figures;
  for (const int64_t processes : {1'000, 10'000, 100'000, 1'000'000}) {
    figures[std::to_string(processes)] = NsPerHop(options, processes);
  }
  const double ratio =
      figures["1000000"].get<double>() / figures["1000"].get<double>();
  return {{"ns_per_op", figures}, {"ratio", ratio}};
}

}  // namespace actord::bench
