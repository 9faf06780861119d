// Time from the daemon's start until it serves.
#include <vector>

#include "bench/median.h"
#include "bench/program_files.h"
#include "bench/rpc/daemon_arguments.h"
#include "bench/rpc/server_process.h"
#include "bench/workload.h"

namespace actord::bench {

Json RunStart(const WorkloadOptions& options) {
  constexpr int kStarts = 11;
  std::vector<double> start_ms;
  for (int round = 0; round < kStarts; ++round) {
    const ServerProcess daemon(ProgramPath("actord"),
                               DaemonArguments(options.workers));
    start_ms.push_back(daemon.start_seconds() * 1e3);
  }
  return {{"rounds", kStarts},
          {"median_ms", Median(start_ms)},
          {"max_ms", Quantile(start_ms, 1)}};
}

}  // namespace actord::bench
