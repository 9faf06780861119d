// The common part of memory and idle: a runtime with many idle processes.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "bench/bench_runtime.h"
#include "bench/processes/crowd.h"

namespace actord::bench {

// Returns when `count` processes have run their first step, in addition to the
// process that spawned them.
inline void FillWithIdleProcesses(BenchRuntime& bench, int64_t count) {
  bench.Submit(Crowd::kName, BytesOf(count));
  const auto all = static_cast<uint64_t>(count) + 1;
  constexpr auto kPatience = std::chrono::minutes(2);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    const runtime::RuntimeStats stats = bench.runtime().Stats();
    if (stats.processes_live == all && stats.steps >= all) return;
    if (std::chrono::steady_clock::now() > deadline) {
      Fail("the idle processes do not come");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace actord::bench
