// SubmitStream of a daemon of its own: 100 submissions a write of a process of
// one step, from the first write until every outcome has come.
#include <grpcpp/create_channel.h>

#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "bench/bench_runtime.h"
#include "bench/median.h"
#include "bench/processes/once.h"
#include "bench/program_files.h"
#include "bench/rpc/bulk_load.h"
#include "bench/rpc/daemon_arguments.h"
#include "bench/rpc/server_process.h"
#include "bench/workload.h"

namespace actord::bench {
namespace {

constexpr uint64_t kSubmissionsAWrite = 100;
constexpr uint64_t kStreamedSubmissions = 600'000;
constexpr int kSubmitRounds = 3;

// Returns how long it took.
double SubmitAll(v1::ActorService::Stub& stub) {
  v1::SubmitStreamRequest request;
  request.set_await_outcomes(true);
  for (uint64_t i = 0; i < kSubmissionsAWrite; ++i) {
    request.add_submissions()->set_process_type(Once::kName);
  }
  uint64_t written = 0, submitted = 0, ended = 0, others = 0;
  std::vector<bool> known(kStreamedSubmissions);
  const Stopwatch stopwatch;
  // What is outstanding is limited by the daemon, which does not read beyond.
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
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Before the client's threads.
  const ServerProcess server(ProgramPath("actord"),
                             DaemonArguments(options.workers));
  const auto stub = v1::ActorService::NewStub(grpc::CreateChannel(
      server.address(), grpc::InsecureChannelCredentials()));
  std::vector<double> seconds;
  const double cpu_before = server.CpuSeconds();
  for (int i = 0; i < kSubmitRounds; ++i) seconds.push_back(SubmitAll(*stub));
  const double cpu = server.CpuSeconds() - cpu_before;
  const double median = Median(seconds);
  Json figures = Figures(kStreamedSubmissions, median);
  figures["submissions_per_second"] =
      static_cast<double>(kStreamedSubmissions) / median;
  figures["daemon_cpu_ns_per_op"] =
      cpu * 1e9 / static_cast<double>(kStreamedSubmissions * kSubmitRounds);
  return figures;
}

}  // namespace actord::bench
