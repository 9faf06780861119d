// SubmitStream to a separate daemon: 100 submissions in each write, of a
// process with one step. Measured from the first write until every outcome has
// arrived.
#include <string>
#include <vector>

#include "actord/v1/actor_service.grpc.pb.h"
#include "bench/bench_runtime.h"
#include "bench/processes/once.h"
#include "bench/rpc/bulk_load.h"
#include "bench/workload.h"
#include "bench/workloads/bulk_stream.h"

namespace actord::bench {
namespace {

constexpr uint64_t kSubmissionsAWrite = 100;
constexpr uint64_t kStreamedSubmissions = 600'000;

// Returns the duration in seconds.
double SubmitAll(v1::ActorService::Stub& stub) {
  v1::SubmitStreamRequest request;
  request.set_await_outcomes(true);
  for (uint64_t i = 0; i < kSubmissionsAWrite; ++i) {
    request.add_submissions()->set_process_type(Once::kName);
  }
  uint64_t written = 0, submitted = 0, ended = 0, others = 0;
  std::vector<bool> known(kStreamedSubmissions);
  const Stopwatch stopwatch;
  // The daemon limits the outstanding submissions by not reading further.
  BulkLoad<v1::SubmitStreamRequest, v1::SubmitStreamResponse> stream(
      [&]() -> const v1::SubmitStreamRequest* {
        if (written == kStreamedSubmissions) return nullptr;
        written += kSubmissionsAWrite;
        return &request;
      },
      [&](const v1::SubmitStreamResponse& response) {
        for (const v1::SubmissionNews& news : response.news()) {
          submitted += news.has_submitted() ? 1 : 0;
          if (!news.has_outcome()) {
            others += news.has_submitted() ? 0 : 1;
          } else if (!news.outcome().has_result() || known[news.index()]) {
            ++others;
          } else {
            known[news.index()] = true;
            ++ended;
          }
        }
      });
  stream.Begin([&stub](auto* context, auto* reactor) {
    stub.async()->SubmitStream(context, reactor);
  });
  stream.WaitUntil([&] { return ended + others >= kStreamedSubmissions; });
  const double seconds = stopwatch.Seconds();
  stream.Finish();
  Expect("the count of submissions answered", kStreamedSubmissions, submitted);
  Expect("the count of results", kStreamedSubmissions, ended);
  Expect("the count of anything else", 0, others);
  return seconds;
}

}  // namespace

Json RunSubmitStream(const WorkloadOptions& options) {
  return RunBulkRounds(options, kStreamedSubmissions, "submissions_per_second",
                       SubmitAll);
}

}  // namespace actord::bench
