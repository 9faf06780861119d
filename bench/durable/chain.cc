// A message through 1000 durable processes, answered outside, beside the same
// chain of volatile processes. A call makes the first link send the message on;
// when it has come back from the last link, the first one answers the call,
// which a durable process does when the record of its step is synced.
//
// The floor, in the same round: one append of the bytes that a chain's records
// take, and its sync.
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench_runtime.h"
#include "bench/durable/bench_store.h"
#include "bench/durable/floor.h"
#include "bench/median.h"
#include "bench/processes/durable.h"
#include "bench/temporary_directory.h"
#include "bench/workload.h"

namespace actord::bench {
namespace {

constexpr int kLinks = 1000;
constexpr int kChainRounds = 101;
constexpr int kChainWarmUps = 10;

// Returns the first link of a ring.
runtime::Pid MakeRing(BenchRuntime& bench, bool durable) {
  std::vector<runtime::Pid> links;
  for (int i = 0; i < kLinks; ++i) {
    links.push_back(bench.Submit(ChainLink::kName, {}, durable));
  }
  for (size_t i = 0; i < links.size(); ++i) {
    const actord_pid next = ToAbi(links[(i + 1) % links.size()]);
    bench.Send(links[i], "next", BytesOf(next));
  }
  return links[0];
}

// Returns how long it took until the answer was there, in microseconds.
double GoRound(BenchRuntime& bench, const runtime::Pid& first) {
  std::promise<absl::Status> answered;
  const Stopwatch stopwatch;
  bench.runtime().Call(first, {},
                       [&answered](absl::StatusOr<runtime::Payload> answer) {
                         answered.set_value(answer.status());
                       });
  const absl::Status status = answered.get_future().get();
  if (!status.ok()) Fail(status.ToString());
  return stopwatch.Seconds() * 1e6;
}

}  // namespace

Json RunDurableChain(const WorkloadOptions& options) {
  const TemporaryDirectory directory;
  const BenchStore store(directory.path() + "/store");
  Floor floor(directory.path());
  BenchRuntime bench({store.With(options.Runtime())});
  const runtime::Pid durable = MakeRing(bench, true);
  const runtime::Pid volatile_one = MakeRing(bench, false);
  for (int i = 0; i < kChainWarmUps; ++i) {
    GoRound(bench, durable);
    GoRound(bench, volatile_one);
  }
  const runtime::JournalStats before = store.journal().Stats();
  std::vector<double> durable_us, volatile_us;
  for (int i = 0; i < kChainRounds; ++i) {
    durable_us.push_back(GoRound(bench, durable));
    volatile_us.push_back(GoRound(bench, volatile_one));
  }
  const runtime::JournalStats after = store.journal().Stats();
  const uint64_t bytes =
      (after.record_bytes - before.record_bytes) / kChainRounds;
  const Floor::Rate sync = floor.Run(1, bytes, kChainRounds);
  const Floor::Rate small_sync = floor.Run(1, 4096, kChainRounds);
  const double more_us = Median(durable_us) - Median(volatile_us);
  return {{"links", kLinks},
          {"durable_us", Median(durable_us)},
          {"volatile_us", Median(volatile_us)},
          {"floor_sync_us", sync.p50_us},
          {"floor_small_sync_us", small_sync.p50_us},
          {"record_bytes", bytes},
          {"groups",
           static_cast<double>(after.groups - before.groups) / kChainRounds},
          {"more_ns_per_link", more_us * 1e3 / kLinks},
          {"more_in_small_syncs", more_us / small_sync.p50_us}};
}

}  // namespace actord::bench
