// actord's Send to an idle process compared with a bare gRPC server. Each
// server is a process of its own, and the same client drives them alternately.
#include <grpcpp/create_channel.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "bench/program_files.h"
#include "bench/rpc/comparison.h"
#include "bench/rpc/daemon_arguments.h"
#include "bench/rpc/secrets.h"
#include "bench/rpc/server_process.h"
#include "bench/workload.h"

namespace actord::bench {

Json RunRpcUnary(const WorkloadOptions& options) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Both must start before the client's threads.
  const ServerProcess bare(ProgramPath("actord_bench_echo"), {});
  const ServerProcess actord(ProgramPath("actord"),
                             DaemonArguments(options.workers));
  const auto credentials = grpc::InsecureChannelCredentials();
  return CompareUnary(
      {bare, grpc::CreateChannel(bare.address(), credentials)},
      {actord, grpc::CreateChannel(actord.address(), credentials)},
      [](grpc::ClientContext&) {});
}

// Both servers require certificates of their clients, and get a token with each
// call. The bare server ignores the token. actord checks each call against a
// role, patterns and all quotas, and the process belongs to the client.
Json RunRpcUnaryMtls(const WorkloadOptions& options) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const Secrets secrets;
  const ServerProcess bare(ProgramPath("actord_bench_echo"),
                           secrets.EchoArguments());
  std::vector<std::string> arguments = secrets.DaemonArguments();
  const std::vector<std::string> common = DaemonArguments(options.workers);
  arguments.insert(arguments.end(), common.begin(), common.end());
  const ServerProcess actord(ProgramPath("actord"), std::move(arguments));
  const auto credentials = secrets.ClientCredentials();
  return CompareUnary(
      {bare, grpc::CreateChannel(bare.address(), credentials)},
      {actord, grpc::CreateChannel(actord.address(), credentials)},
      [&secrets](grpc::ClientContext& context) {
        context.AddMetadata("authorization", secrets.Bearer());
      });
}

}  // namespace actord::bench
