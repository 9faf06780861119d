// A million processes that sleep at the same time.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench_runtime.h"
#include "bench/process_usage.h"
#include "bench/processes/sleepers.h"
#include "bench/workload.h"

namespace actord::bench {
namespace {

using Counter = uint64_t runtime::RuntimeStats::*;

// Rare enough to have no effect on the measurement.
constexpr auto kLookEvery = std::chrono::milliseconds(2);
constexpr auto kLookEveryWhileFiring = std::chrono::milliseconds(20);

void WaitFor(const runtime::Runtime& runtime, Counter counter, uint64_t count) {
  while (runtime.Stats().*counter < count) {
    std::this_thread::sleep_for(kLookEvery);
  }
}

// Waits until all processes except `root` have executed this many steps in
// total.
void WaitForSteps(const runtime::Runtime& runtime, const runtime::Pid& root,
                  uint64_t count) {
  for (;;) {
    const auto info = runtime.Describe(root);
    if (!info.ok()) Fail(std::string(info.status().message()));
    if (runtime.Stats().steps - info->steps >= count) return;
    std::this_thread::sleep_for(kLookEveryWhileFiring);
  }
}

// In microseconds, rounded up to the end of the bucket.
double LateUs(const std::vector<uint32_t>& counts, uint64_t all,
              double quantile) {
  const auto wanted =
      static_cast<uint64_t>(static_cast<double>(all) * quantile);
  uint64_t seen = 0;
  size_t bucket = 0;
  while (bucket + 1 < counts.size() && (seen += counts[bucket]) < wanted) {
    ++bucket;
  }
  return static_cast<double>(bucket + 1) *
         static_cast<double>(Lateness::kBucketNs) / 1e3;
}

// Adding: a message to a process whose step yields timer.sleep, in elapsed
// time. Firing: a timer and the step that receives its completion, in processor
// time, because elapsed time would include the sleep. `ns_per_op` is the larger
// of the two.
Json RunSleeps(const WorkloadOptions& options, int64_t end_within_ns) {
  constexpr int64_t kSleepers = 1'000'000;
  const SleepersInput input = {.count = kSleepers,
                               .shortest_ns = 5'000'000'000,
                               .spread_ns = end_within_ns};
  const auto all = static_cast<uint64_t>(kSleepers);
  BenchRuntime bench(options.Runtime());
  runtime::Runtime& runtime = bench.runtime();
  const auto root = bench.Submit(Sleepers::kName, BytesOf(input));
  WaitFor(runtime, &runtime::RuntimeStats::processes_live, all + 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));

  const Stopwatch adding;
  bench.Send(root, "go", {});
  WaitFor(runtime, &runtime::RuntimeStats::yields, all);
  const double add_seconds = adding.Seconds();
  const double shortest_seconds = static_cast<double>(input.shortest_ns) / 1e9;
  if (add_seconds > shortest_seconds) Fail("sleeps ended while others began");

  const double cpu_before = CpuSeconds();
  WaitForSteps(runtime, root, 3 * all);
  const double fire_seconds = CpuSeconds() - cpu_before;

  bench.Send(root, "end", {});
  const std::string bytes = bench.Await(root);
  std::vector<uint32_t> counts(Lateness::kBuckets);
  Expect("the size of the histogram", counts.size() * sizeof(uint32_t),
         bytes.size());
  std::memcpy(counts.data(), bytes.data(), bytes.size());
  uint64_t noted = 0;
  for (const uint32_t count : counts) noted += count;
  const uint64_t to_note =
      (all + kSleepersForEachNoted - 1) / kSleepersForEachNoted;
  Expect("the count of sleeps that were noted", to_note, noted);
  bench.ExpectMessages(all + 2);
  const double add_ns = add_seconds * 1e9 / static_cast<double>(kSleepers);
  const double fire_ns = fire_seconds * 1e9 / static_cast<double>(kSleepers);
  return {{"ops", kSleepers},
          {"ns_per_op", std::max(add_ns, fire_ns)},
          {"add_ns", add_ns},
          {"fire_cpu_ns", fire_ns},
          {"late_p50_us", LateUs(counts, noted, 0.5)},
          {"late_p99_us", LateUs(counts, noted, 0.99)}};
}

}  // namespace

Json RunTimers(const WorkloadOptions& options) {
  return RunSleeps(options, 5'000'000'000);
}

Json RunTimersDense(const WorkloadOptions& options) {
  return RunSleeps(options, 1'000'000'000);
}

}  // namespace actord::bench
