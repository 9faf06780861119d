#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench_runtime.h"
#include "bench/median.h"
#include "bench/processes/latency.h"
#include "bench/workload.h"

namespace actord::bench {

// From a send by an outside thread to the step, with every worker asleep.
Json RunWake(const WorkloadOptions& options) {
  constexpr size_t kMessages = 2000;
  BenchRuntime runtime(options.Runtime());
  const auto pid = runtime.Submit(Latency::kName, {});
  for (size_t i = 0; i < kMessages; ++i) {
    // The workers fall asleep meanwhile.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const int64_t now = SteadyNowNs();
    runtime.Send(pid, {}, BytesOf(now));
  }
  runtime.Send(pid, "end", {});
  const std::string bytes = runtime.Await(pid);
  Expect("the count of samples", kMessages, bytes.size() / sizeof(int64_t));
  std::vector<double> us;
  for (size_t i = 0; i < kMessages; ++i) {
    int64_t ns = 0;
    std::memcpy(&ns, bytes.data() + i * sizeof(ns), sizeof(ns));
    us.push_back(static_cast<double>(ns) / 1e3);
  }
  return {{"ops", kMessages},
          {"p50_us", Median(us)},
          {"p99_us", Quantile(us, 0.99)},
          {"max_us", Quantile(us, 1)}};
}

}  // namespace actord::bench
