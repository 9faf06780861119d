#include "bench/process_usage.h"
#include "bench/workload.h"
#include "bench/workloads/idle_crowd.h"

namespace actord::bench {

// Resident memory of an idle process, all in.
Json RunMemory(const WorkloadOptions& options) {
  constexpr int64_t kProcesses = 1'000'000;
  BenchRuntime runtime(options.Runtime());
  const int64_t before = ResidentBytes();
  FillWithIdleProcesses(runtime, kProcesses);
  const int64_t grown = ResidentBytes() - before;
  return {{"processes", kProcesses},
          {"resident_bytes", grown},
          {"bytes_per_process",
           static_cast<double>(grown) / static_cast<double>(kProcesses)}};
}

}  // namespace actord::bench
