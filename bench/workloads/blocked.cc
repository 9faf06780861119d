// The effect of processes that block their thread on other processes.
#include <sched.h>

#include <atomic>
#include <string_view>
#include <vector>

#include "bench/bench_runtime.h"
#include "bench/median.h"
#include "bench/processes/blockers.h"
#include "bench/processes/once.h"
#include "bench/workload.h"

namespace actord::bench {
namespace {

constexpr int64_t kShortOnes = 10'000;

// Milliseconds from the submission of 10,000 processes with one step until all
// have ended.
double ShortOnesMs(BenchRuntime& bench) {
  std::atomic<int64_t> left{kShortOnes};
  const Stopwatch stopwatch;
  for (int64_t i = 0; i < kShortOnes; ++i) {
    bench.runtime().Submit(
        {.process_type = Once::kName,
         .method = {},
         .input = {},
         .messages = {}},
        [&](const absl::StatusOr<runtime::Pid>& pid) {
          if (!pid.ok()) Fail("a process is refused");
          bench.runtime().Await(
              *pid, [&left](const absl::StatusOr<runtime::Outcome>& outcome) {
                if (!outcome.ok()) Fail("a process has no outcome");
                left.fetch_sub(1);
              });
        });
  }
  while (left.load() != 0) sched_yield();
  return stopwatch.Seconds() * 1e3;
}

// The same next to 8 processes that block their thread for a second.
double BesideBlockersMs(BenchRuntime& bench, std::string_view type) {
  constexpr int kBlockers = 8;
  constexpr int64_t kSleepNs = 1'000'000'000;
  std::vector<runtime::Pid> blockers;
  for (int i = 0; i < kBlockers; ++i) {
    blockers.push_back(bench.Submit(type, BytesOf(kSleepNs)));
  }
  const double ms = ShortOnesMs(bench);
  for (const runtime::Pid& pid : blockers) bench.Await(pid);
  return ms;
}

// Nanoseconds of one step of a type with kBlocksThread.
double DeclaredStepNs(BenchRuntime& bench) {
  constexpr int64_t kSteps = 100'000;
  const Stopwatch stopwatch;
  bench.Await(bench.Submit(BlockerInName::kName, BytesOf(kSteps)));
  return stopwatch.Seconds() * 1e9 / static_cast<double>(kSteps);
}

}  // namespace

Json RunBlocked(const WorkloadOptions& options) {
  constexpr int kRounds = 3;
  BenchRuntime bench(options.Runtime());
  ShortOnesMs(bench);
  std::vector<double> alone, declared, undeclared, step;
  for (int i = 0; i < kRounds; ++i) {
    alone.push_back(ShortOnesMs(bench));
    declared.push_back(BesideBlockersMs(bench, Blocker::kName));
    undeclared.push_back(BesideBlockersMs(bench, UndeclaredBlocker::kName));
    step.push_back(DeclaredStepNs(bench));
  }
  return {{"ops", kShortOnes},
          {"alone_ms", Median(alone)},
          {"beside_declared_ms", Median(declared)},
          {"beside_undeclared_ms", Median(undeclared)},
          {"declared_step_ns", Median(step)}};
}

}  // namespace actord::bench
