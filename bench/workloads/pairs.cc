#include "bench/workload.h"
#include "bench/workloads/bounce.h"

namespace actord::bench {

Json RunPairs(const WorkloadOptions& options) {
  return Bounce(options, {.pairs = 1000, .hops = 5000});
}

}  // namespace actord::bench
