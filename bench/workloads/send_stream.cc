// SendStream to a separate daemon: 100 messages of 64 bytes in each write, to
// 1000 processes. Measured from the first write until every process has
// received all its messages.
#include <string>

#include "actord/v1/actor_service.grpc.pb.h"
#include "bench/bench_runtime.h"
#include "bench/processes/drain.h"
#include "bench/rpc/bulk_load.h"
#include "bench/rpc/receivers.h"
#include "bench/workload.h"
#include "bench/workloads/bulk_stream.h"

namespace actord::bench {
namespace {

constexpr int kReceivers = 1000;
constexpr int kItemsAWrite = 100;
constexpr size_t kItemBytes = 64;
constexpr uint64_t kItems = 3'000'000;
constexpr uint64_t kMaxUnacked = 20'000;

using Sends = BulkLoad<v1::SendStreamRequest, v1::SendStreamResponse>;

// Returns the duration in seconds.
double SendAll(v1::ActorService::Stub& stub) {
  Receivers receivers(stub, Drain::kName, kReceivers, v1::DURABILITY_VOLATILE);
  const auto data =
      Batches(receivers.pids(), kItemsAWrite, [](v1::SendRequest& item) {
        item.mutable_payload()->set_data(std::string(kItemBytes, 'x'));
      });
  const auto ends =
      Batches(receivers.pids(), kItemsAWrite,
              [](v1::SendRequest& item) { item.set_topic("end"); });
  uint64_t written = 0, acked = 0, refused = 0;
  const Stopwatch stopwatch;
  Sends sends(
      [&]() -> const v1::SendStreamRequest* {
        if (written == kItems + kReceivers || written - acked >= kMaxUnacked) {
          return nullptr;
        }
        const auto& batches = written < kItems ? data : ends;
        const size_t number = written / kItemsAWrite % batches.size();
        written += kItemsAWrite;
        return &batches[number];
      },
      [&](const v1::SendStreamResponse& response) {
        acked = response.acked_count();
        refused += static_cast<uint64_t>(response.refusals_size());
      });
  sends.Begin([&stub](auto* context, auto* reactor) {
    stub.async()->SendStream(context, reactor);
  });
  const uint64_t received = receivers.WaitForAll();
  const double seconds = stopwatch.Seconds();
  sends.WaitUntil([&] { return acked == kItems + kReceivers; });
  sends.Finish();
  receivers.Finish();
  Expect("the count of refused messages", 0, refused);
  Expect("the count of messages received", kItems, received);
  return seconds;
}

}  // namespace

Json RunSendStream(const WorkloadOptions& options) {
  return RunBulkRounds(options, kItems, "messages_per_second", SendAll);
}

}  // namespace actord::bench
