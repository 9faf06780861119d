// A message through 1000 durable processes, answered outside, beside the same
// chain of volatile processes. A call makes the first link send the message on;
// when it has come back from the last link, the first one answers the call,
// which a durable process does when the record of its step is synced.
//
// The floor, in the same round: one append of the bytes that a chain's records
// take, and its sync. Then measures the encoding of a chain's records, without
// a disk.
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bench/bench_runtime.h"
#include "bench/durable/bench_store.h"
#include "bench/durable/floor.h"
#include "bench/median.h"
#include "bench/processes/durable.h"
#include "bench/temporary_directory.h"
#include "bench/workload.h"
#include "runtime/records/record_codec.h"
#include "runtime/step/record_format.h"

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

// How long it takes to encode the newest record of a step for each link, in
// microseconds.
double EncodeChain(const runtime::Journal& journal) {
  runtime::JournalReader reader = journal.Read(journal.FirstLsn());
  std::string payload;
  for (;;) {
    const absl::StatusOr<bool> found = reader.Next();
    if (!found.ok()) Fail(found.status().ToString());
    if (!*found) break;
    const runtime::RecordView& record = reader.record();
    if (record.kind == static_cast<uint16_t>(runtime::records::Kind::kStep)) {
      payload = record.payload;
    }
  }
  std::optional<runtime::records::Any> record;
  absl::Status status = runtime::records::Decode(
      static_cast<uint16_t>(runtime::records::Kind::kStep), 0, payload, record);
  if (!status.ok()) Fail(status.ToString());
  auto& step = std::get<runtime::records::Step>(*record);
  runtime::BufferPool pool;
  runtime::BufferCache buffers(pool);
  runtime::DecodedRecord turn;
  status = runtime::DecodeTurn(step.record, buffers, turn);
  if (!status.ok()) Fail(status.ToString());
  std::vector<double> us;
  std::string encoded;
  for (int i = 0; i < kChainRounds; ++i) {
    const Stopwatch stopwatch;
    for (int link = 0; link < kLinks; ++link) {
      step.record.clear();
      runtime::EncodeTurn(turn, step.record);
      encoded.clear();
      runtime::records::Encode(*record, encoded);
    }
    us.push_back(stopwatch.Seconds() * 1e6);
  }
  if (encoded != payload) Fail("a step was encoded differently");
  runtime::FreeContents(turn, buffers);
  return Median(us);
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
  const double encoding_us = EncodeChain(store.journal());
  const double more_us = Median(durable_us) - Median(volatile_us);
  return {{"links", kLinks},
          {"durable_us", Median(durable_us)},
          {"volatile_us", Median(volatile_us)},
          {"floor_sync_us", sync.p50_us},
          {"floor_small_sync_us", small_sync.p50_us},
          {"encoding_us", encoding_us},
          {"bar_us", Median(volatile_us) + encoding_us + 2.5 * sync.p50_us},
          {"record_bytes", bytes},
          {"groups",
           static_cast<double>(after.groups - before.groups) / kChainRounds},
          {"more_ns_per_link", more_us * 1e3 / kLinks},
          {"more_in_small_syncs", more_us / small_sync.p50_us}};
}

}  // namespace actord::bench
