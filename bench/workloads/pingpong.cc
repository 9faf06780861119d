#include "bench/workload.h"
#include "bench/workloads/bounce.h"

namespace actord::bench {

Json RunPingpong(const WorkloadOptions& options) {
  return Bounce(options, {.pairs = 1, .hops = 2'000'000});
}

}  // namespace actord::bench
