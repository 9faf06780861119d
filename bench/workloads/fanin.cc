#include "bench/processes/fanin.h"

#include "bench/bench_runtime.h"
#include "bench/workload.h"

namespace actord::bench {

// An operation is one message at the sink. At most 2 * 8 * 1000 messages are in
// its mailbox. That is below the daemon's default limit, so no message is lost,
// and small enough for a cache. (A Go channel in its place would hold 1024.)
Json RunFanin(const WorkloadOptions& options) {
  const FaninInput input = {.producers = 1000, .each = 5000, .batch = 8};
  BenchRuntime runtime(options.Runtime());
  const Stopwatch stopwatch;
  const auto root = runtime.Submit(FaninRoot::kName, BytesOf(input));
  const auto sum = ReadAs<int64_t>(runtime.Await(root));
  const double seconds = stopwatch.Seconds();
  Expect("the sum of the numbers",
         static_cast<uint64_t>(input.producers * input.each * (input.each - 1) /
                               2),
         static_cast<uint64_t>(sum));
  // In addition, the sink's answer to each batch and its report.
  const int64_t batches = (input.each + input.batch - 1) / input.batch;
  runtime.ExpectMessages(
      static_cast<uint64_t>(input.producers * (input.each + batches) + 1));
  return Figures(input.producers * input.each, seconds);
}

}  // namespace actord::bench
