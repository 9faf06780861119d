// SubmitStream of durable processes of one step to a separate daemon: 100
// submissions in each write. A start is answered, and a result is told, when
// its record is synced. Measured from the first write until every result has
// arrived.
//
// The floor, in the same round: 100 writers append 192 bytes to a file and
// sync, which is less than the three records of such a process take.
#include <cstdint>
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
#include "bench/workload.h"

namespace actord::bench {
namespace {

constexpr int kDurableSubmitRounds = 5;
constexpr uint64_t kDurableSubmissionsAWrite = 100;
constexpr uint64_t kDurableSubmissions = 100'000;
constexpr int kFloorWriters = 100;
constexpr size_t kFloorBytesOfOne = 192;

// Returns the duration in seconds.
double SubmitDurably(v1::ActorService::Stub& stub) {
  v1::SubmitStreamRequest request;
  request.set_await_outcomes(true);
  for (uint64_t i = 0; i < kDurableSubmissionsAWrite; ++i) {
    v1::SubmitRequest& submission = *request.add_submissions();
    submission.set_process_type(DurableOnce::kName);
    submission.set_durability(v1::DURABILITY_DURABLE);
  }
  uint64_t written = 0, submitted = 0, ended = 0, others = 0;
  const Stopwatch stopwatch;
  // The daemon limits the outstanding submissions by not reading further.
  BulkLoad<v1::SubmitStreamRequest, v1::SubmitStreamResponse> stream(
      [&]() -> const v1::SubmitStreamRequest* {
        if (written == kDurableSubmissions) return nullptr;
        written += kDurableSubmissionsAWrite;
        return &request;
      },
      [&](const v1::SubmitStreamResponse& response) {
        for (const v1::SubmissionNews& news : response.news()) {
          if (news.has_submitted()) ++submitted;
          if (news.has_outcome() && news.outcome().has_result()) ++ended;
          if (news.has_refusal() || news.has_outcome_refusal() ||
              (news.has_outcome() && !news.outcome().has_result())) {
            ++others;
          }
        }
      });
  stream.Begin([&stub](auto* context, auto* reactor) {
    stub.async()->SubmitStream(context, reactor);
  });
  stream.WaitUntil([&] { return ended + others >= kDurableSubmissions; });
  const double seconds = stopwatch.Seconds();
  stream.Finish();
  Expect("the count of submissions answered", kDurableSubmissions, submitted);
  Expect("the count of results", kDurableSubmissions, ended);
  Expect("the count of anything else", 0, others);
  return seconds;
}

}  // namespace

Json RunDurableSubmit(const WorkloadOptions& options) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const DurableServer server(options.workers);
  const auto stub = server.NewStub();
  Floor floor(server.directory());
  std::vector<double> seconds, floor_rate;
  const double cpu_before = server.CpuSeconds();
  for (int round = 0; round < kDurableSubmitRounds; ++round) {
    floor_rate.push_back(
        floor.Run(kFloorWriters, kFloorBytesOfOne, kDurableSubmissions)
            .appends_per_second);
    seconds.push_back(SubmitDurably(*stub));
  }
  const double cpu = server.CpuSeconds() - cpu_before;
  Json figures =
      Figures(static_cast<int64_t>(kDurableSubmissions), Median(seconds));
  figures["submissions_per_second"] =
      static_cast<double>(kDurableSubmissions) / Median(seconds);
  figures["floor_per_second"] = Median(floor_rate);
  figures["daemon_cpu_ns_per_op"] =
      cpu * 1e9 /
      static_cast<double>(kDurableSubmissions * kDurableSubmitRounds);
  return figures;
}

}  // namespace actord::bench
