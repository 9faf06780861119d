#include <chrono>
#include <thread>

#include "bench/process_usage.h"
#include "bench/workload.h"
#include "bench/workloads/idle_crowd.h"

namespace actord::bench {

// Processor time of idle processes in ten seconds.
Json RunIdle(const WorkloadOptions& options) {
  const int64_t processes = options.idle_processes;
  constexpr auto kDuration = std::chrono::seconds(10);
  BenchRuntime runtime(options.Runtime());
  FillWithIdleProcesses(runtime, processes);
  // Waits until the workers sleep.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const double before = CpuSeconds();
  std::this_thread::sleep_for(kDuration);
  const double used = CpuSeconds() - before;
  return {{"processes", processes},
          {"seconds", std::chrono::duration<double>(kDuration).count()},
          {"cpu_ms", used * 1e3}};
}

}  // namespace actord::bench
