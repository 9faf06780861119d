#include "bench/bench_runtime.h"
#include "bench/processes/yielder.h"
#include "bench/workload.h"

namespace actord::bench {

// An operation is one yield to an inline handler and its completion in the next
// step.
Json RunYield(const WorkloadOptions& options) {
  const int64_t yields = 2'000'000;
  BenchRuntime runtime(options.Runtime());
  const Stopwatch stopwatch;
  const auto pid = runtime.Submit(Yielder::kName, BytesOf(yields));
  const auto completions = ReadAs<int64_t>(runtime.Await(pid));
  const double seconds = stopwatch.Seconds();
  Expect("the count of completions", static_cast<uint64_t>(yields),
         static_cast<uint64_t>(completions));
  runtime.ExpectMessages(0);
  return Figures(yields, seconds);
}

}  // namespace actord::bench
