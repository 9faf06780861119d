#include "bench/process_usage.h"
#include "bench/workload.h"
#include "bench/workloads/idle_crowd.h"

namespace actord::bench {

// Resident memory of an idle process, including all overhead.
Json RunMemory(const WorkloadOptions& options) {
  const int64_t processes = options.idle_processes;
  BenchRuntime runtime(options.Runtime());
  const int64_t before = ResidentBytes();
  FillWithIdleProcesses(runtime, processes);
  const int64_t grown = ResidentBytes() - before;
  return {{"processes", processes},
          {"resident_bytes", grown},
          {"bytes_per_process",
           static_cast<double>(grown) / static_cast<double>(processes)}};
}

}  // namespace actord::bench
