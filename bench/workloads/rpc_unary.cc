// actord's Send to an idle process beside a bare gRPC server, each a process of
// its own, driven by the same client in turn.
#include <grpcpp/create_channel.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "bench/bench_runtime.h"
#include "bench/median.h"
#include "bench/processes/drain.h"
#include "bench/program_files.h"
#include "bench/rpc/closed_loop.h"
#include "bench/rpc/daemon_arguments.h"
#include "bench/rpc/echo.grpc.pb.h"
#include "bench/rpc/server_process.h"
#include "bench/workload.h"

namespace actord::bench {
namespace {

constexpr size_t kMessageBytes = 64;
constexpr int kRounds = 11;
constexpr double kRoundSeconds = 0.4;
constexpr double kWarmUpSeconds = 0.3;

using BareLoop = ClosedLoop<EchoResponse>;
using ActordLoop = ClosedLoop<v1::SendResponse>;

std::shared_ptr<grpc::Channel> Connect(const ServerProcess& server) {
  return grpc::CreateChannel(server.address(),
                             grpc::InsecureChannelCredentials());
}

void MustBeOk(const grpc::Status& status) {
  if (!status.ok()) Fail("a call failed: " + status.error_message());
}

std::string SubmitDrain(v1::ActorService::Stub& stub) {
  grpc::ClientContext context;
  v1::SubmitRequest request;
  v1::SubmitResponse response;
  request.set_process_type(Drain::kName);
  MustBeOk(stub.Submit(&context, request, &response));
  return response.pid();
}

// The process got each message exactly once.
void ExpectDrained(v1::ActorService::Stub& stub, const std::string& pid,
                   uint64_t messages) {
  grpc::ClientContext send_context;
  v1::SendRequest end;
  v1::SendResponse sent;
  end.set_pid(pid);
  end.set_topic("end");
  MustBeOk(stub.Send(&send_context, end, &sent));
  grpc::ClientContext await_context;
  v1::AwaitRequest await;
  v1::AwaitResponse response;
  await.set_pid(pid);
  MustBeOk(stub.Await(&await_context, await, &response));
  const std::string& count = response.outcome().result().data();
  if (count != std::to_string(messages)) {
    Fail(absl::StrCat("wrong result: the process should have got ", messages,
                      " messages and got ", count));
  }
}

// Adds what was measured with so many calls in flight.
void Compare(int in_flight, BareLoop& bare, ActordLoop& actord, Json& figures) {
  bare.CallsPerSecond(in_flight, kWarmUpSeconds);
  actord.CallsPerSecond(in_flight, kWarmUpSeconds);
  std::vector<double> bare_calls;
  std::vector<double> actord_calls;
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    bare_calls.push_back(bare.CallsPerSecond(in_flight, kRoundSeconds));
    actord_calls.push_back(actord.CallsPerSecond(in_flight, kRoundSeconds));
    // Both of a round have met the same noise.
    ratios.push_back(actord_calls.back() / bare_calls.back());
  }
  figures[absl::StrCat("ratio_", in_flight)] = Median(ratios);
  figures[absl::StrCat("bare_calls_per_second_", in_flight)] =
      Median(bare_calls);
  figures[absl::StrCat("actord_calls_per_second_", in_flight)] =
      Median(actord_calls);
}

}  // namespace

Json RunRpcUnary(const WorkloadOptions& options) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Both before the client's threads.
  const ServerProcess bare_server(ProgramPath("actord_bench_echo"), {});
  const ServerProcess actord_server(ProgramPath("actord"),
                                    DaemonArguments(options.workers));
  const auto echo = Echo::NewStub(Connect(bare_server));
  const auto service = v1::ActorService::NewStub(Connect(actord_server));

  EchoRequest echo_request;
  echo_request.set_id(7);
  echo_request.set_data(std::string(kMessageBytes, 'x'));
  v1::SendRequest send_request;
  send_request.set_pid(SubmitDrain(*service));
  send_request.mutable_payload()->set_data(std::string(kMessageBytes, 'x'));

  BareLoop bare([&](auto* context, auto* queue) {
    return echo->AsyncUnary(context, echo_request, queue);
  });
  ActordLoop actord([&](auto* context, auto* queue) {
    return service->AsyncSend(context, send_request, queue);
  });
  Json figures;
  Compare(1, bare, actord, figures);
  Compare(64, bare, actord, figures);
  ExpectDrained(*service, send_request.pid(), actord.calls());
  return figures;
}

}  // namespace actord::bench
