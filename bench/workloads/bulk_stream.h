// The common part of the workloads with a bulk stream.
#pragma once

#include <grpcpp/create_channel.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "bench/median.h"
#include "bench/program_files.h"
#include "bench/rpc/daemon_arguments.h"
#include "bench/rpc/server_process.h"
#include "bench/temporary_directory.h"
#include "bench/workload.h"

namespace actord::bench {

inline constexpr int kBulkRounds = 3;

// Runs `round` several times and returns its figures. `round` performs `ops`
// operations over the daemon's stub and returns the seconds that they took.
// `rate` is the name of the figure for operations a second.
inline Json RunBulkRounds(
    const WorkloadOptions& options, uint64_t ops, const std::string& rate,
    absl::FunctionRef<double(v1::ActorService::Stub&)> round) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Must start before the client's threads.
  std::optional<TemporaryDirectory> directory;
  if (options.with_store) directory.emplace();
  const ServerProcess server(
      ProgramPath("actord"),
      DaemonArguments(options.workers,
                      directory ? directory->path() + "/store" : ""));
  const auto stub = v1::ActorService::NewStub(grpc::CreateChannel(
      server.address(), grpc::InsecureChannelCredentials()));
  std::vector<double> seconds;
  const double cpu_before = server.CpuSeconds();
  for (int i = 0; i < kBulkRounds; ++i) seconds.push_back(round(*stub));
  const double cpu = server.CpuSeconds() - cpu_before;
  const double median = Median(seconds);
  Json figures = Figures(static_cast<int64_t>(ops), median);
  figures[rate] = static_cast<double>(ops) / median;
  figures["daemon_cpu_ns_per_op"] =
      cpu * 1e9 / static_cast<double>(ops * kBulkRounds);
  return figures;
}

}  // namespace actord::bench
