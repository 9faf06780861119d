// SendStream to durable processes of a separate daemon: batches of 100 messages
// of 64 bytes to 1000 processes, with 8 batches in flight, or with one. A batch
// is acknowledged when its records are synced. Measured from the first write
// until every process has taken all its messages and its end is synced.
//
// The floor, in the same round: as many writers append the bytes of a batch to
// a file and sync. It runs no step, has no network and no index.
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "bench/bench_runtime.h"
#include "bench/durable/durable_server.h"
#include "bench/durable/floor.h"
#include "bench/median.h"
#include "bench/processes/durable.h"
#include "bench/rpc/bulk_load.h"
#include "bench/rpc/receivers.h"
#include "bench/workload.h"

namespace actord::bench {
namespace {

constexpr int kDurableReceivers = 1000;
constexpr uint64_t kBatchItems = 100;
constexpr size_t kDurableItemBytes = 64;
constexpr int kDurableRounds = 5;

struct StreamRound {
  double seconds = 0;
  // From the write of each batch to its acknowledgement.
  std::vector<double> waits_us;
};

// The times at which batches were written, until they are acknowledged.
class Waits {
 public:
  void Written() { written_.emplace_back(); }
  // All batches before `batches` are acknowledged.
  void Acknowledged(uint64_t batches) {
    for (; acknowledged_ < batches; ++acknowledged_) {
      waits_us_.push_back(written_.front().Seconds() * 1e6);
      written_.pop_front();
    }
  }
  [[nodiscard]] size_t in_flight() const { return written_.size(); }
  std::vector<double> Take() { return std::move(waits_us_); }

 private:
  std::deque<Stopwatch> written_;
  uint64_t acknowledged_ = 0;
  std::vector<double> waits_us_;
};

StreamRound SendDurably(v1::ActorService::Stub& stub, uint64_t items,
                        size_t in_flight) {
  Receivers receivers(stub, DurableDrain::kName, kDurableReceivers,
                      v1::DURABILITY_DURABLE);
  const auto data =
      Batches(receivers.pids(), kBatchItems, [](v1::SendRequest& item) {
        item.mutable_payload()->set_data(std::string(kDurableItemBytes, 'x'));
      });
  const auto ends =
      Batches(receivers.pids(), kBatchItems,
              [](v1::SendRequest& item) { item.set_topic("end"); });
  const uint64_t all = items + kDurableReceivers;
  uint64_t written = 0, acked = 0, refused = 0;
  Waits waits;
  const Stopwatch stopwatch;
  BulkLoad<v1::SendStreamRequest, v1::SendStreamResponse> sends(
      [&]() -> const v1::SendStreamRequest* {
        if (written == all || waits.in_flight() >= in_flight) return nullptr;
        const auto& batches = written < items ? data : ends;
        const size_t number = written / kBatchItems % batches.size();
        written += kBatchItems;
        waits.Written();
        return &batches[number];
      },
      [&](const v1::SendStreamResponse& response) {
        acked = response.acked_count();
        waits.Acknowledged(acked / kBatchItems);
        refused += static_cast<uint64_t>(response.refusals_size());
      });
  sends.Begin([&stub](auto* context, auto* reactor) {
    stub.async()->SendStream(context, reactor);
  });
  sends.WaitUntil([&] { return acked == all; });
  const uint64_t received = receivers.WaitForAll();
  const double seconds = stopwatch.Seconds();
  sends.Finish();
  receivers.Finish();
  Expect("the count of refused messages", 0, refused);
  Expect("the count of messages received", items, received);
  return {seconds, waits.Take()};
}

Json RunStream(const WorkloadOptions& options, uint64_t items, int in_flight) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  DurableServer server(options.workers);
  const auto stub = server.NewStub();
  Floor floor(server.directory());
  std::vector<double> seconds, p50_us, p99_us, floor_rate, floor_p50_us;
  const double cpu_before = server.CpuSeconds();
  const uint64_t disk_before = server.WrittenBytes();
  (void)server.ZeroedBytes();
  uint64_t zeroed = 0;
  for (int round = 0; round < kDurableRounds; ++round) {
    const Floor::Rate rate = floor.Run(
        in_flight, kBatchItems * kDurableItemBytes, items / kBatchItems);
    floor_rate.push_back(rate.appends_per_second * kBatchItems);
    floor_p50_us.push_back(rate.p50_us);
    const StreamRound result =
        SendDurably(*stub, items, static_cast<size_t>(in_flight));
    seconds.push_back(result.seconds);
    p50_us.push_back(Median(result.waits_us));
    p99_us.push_back(Quantile(result.waits_us, 0.99));
    zeroed += server.ZeroedBytes();
  }
  const double messages = static_cast<double>(items) * kDurableRounds;
  Json figures = Figures(static_cast<int64_t>(items), Median(seconds));
  figures["messages_per_second"] = static_cast<double>(items) / Median(seconds);
  figures["p50_us"] = Median(p50_us);
  figures["p99_us"] = Median(p99_us);
  figures["floor_messages_per_second"] = Median(floor_rate);
  figures["floor_p50_us"] = Median(floor_p50_us);
  figures["daemon_cpu_ns_per_op"] =
      (server.CpuSeconds() - cpu_before) * 1e9 / messages;
  figures["disk_bytes_per_op"] =
      static_cast<double>(server.WrittenBytes() - disk_before - zeroed) /
      messages;
  figures["zeroed_bytes_per_op"] = static_cast<double>(zeroed) / messages;
  return figures;
}

}  // namespace

Json RunDurableStream(const WorkloadOptions& options) {
  return RunStream(options, 300'000, 8);
}

Json RunDurableStream1(const WorkloadOptions& options) {
  return RunStream(options, 100'000, 1);
}

}  // namespace actord::bench
