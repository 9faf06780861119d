// Time from Submit inside the process to the end of a process with one step.
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "bench/bench_runtime.h"
#include "bench/processes/once.h"
#include "bench/workload.h"

namespace actord::bench {

// One thread submits as fast as possible, with at most 10,000 processes at a
// time. Results are kept, as for every submitted process.
Json RunSubmit(const WorkloadOptions& options) {
  constexpr int64_t kSubmissions = 1'000'000;
  constexpr int64_t kLookEvery = 256;
  constexpr uint64_t kAtATime = 10'000;
  BenchRuntime bench(options.Runtime());
  runtime::Runtime& runtime = bench.runtime();
  std::atomic<int64_t> refused{0};
  const auto wait_until_ended = [&runtime](uint64_t count) {
    while (runtime.Stats().processes_ended < count) usleep(50);
  };
  const Stopwatch stopwatch;
  for (int64_t i = 1; i <= kSubmissions; ++i) {
    runtime.Submit({.process_type = Once::kName,
                    .method = {},
                    .input = {},
                    .messages = {}},
                   [&refused](const absl::StatusOr<runtime::Pid>& pid) {
                     if (!pid.ok()) refused.fetch_add(1);
                   });
    const auto submitted = static_cast<uint64_t>(i);
    if (i % kLookEvery == 0 && submitted > kAtATime) {
      wait_until_ended(submitted - kAtATime);
    }
  }
  wait_until_ended(static_cast<uint64_t>(kSubmissions));
  const double seconds = stopwatch.Seconds();
  Expect("the count of refused submissions", 0,
         static_cast<uint64_t>(refused.load()));
  bench.ExpectMessages(0);
  return Figures(kSubmissions, seconds);
}

}  // namespace actord::bench
