#include "bench/rpc/comparison.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "bench/bench_runtime.h"
#include "bench/median.h"
#include "bench/processes/drain.h"
#include "bench/rpc/closed_loop.h"
#include "bench/rpc/echo.grpc.pb.h"

namespace actord::bench {
namespace {

constexpr size_t kMessageBytes = 64;
constexpr int kRounds = 11;
constexpr double kRoundSeconds = 0.4;
constexpr double kWarmUpSeconds = 0.3;

using Prepare = std::function<void(grpc::ClientContext&)>;

void MustBeOk(const grpc::Status& status) {
  if (!status.ok()) Fail("a call failed: " + status.error_message());
}

std::string SubmitDrain(v1::ActorService::Stub& stub, const Prepare& prepare) {
  grpc::ClientContext context;
  prepare(context);
  v1::SubmitRequest request;
  v1::SubmitResponse response;
  request.set_process_type(Drain::kName);
  MustBeOk(stub.Submit(&context, request, &response));
  return response.pid();
}

// Checks that the process received each message exactly once.
void ExpectDrained(v1::ActorService::Stub& stub, const std::string& pid,
                   uint64_t messages, const Prepare& prepare) {
  grpc::ClientContext send_context;
  prepare(send_context);
  v1::SendRequest end;
  v1::SendResponse sent;
  end.set_pid(pid);
  end.set_topic("end");
  MustBeOk(stub.Send(&send_context, end, &sent));
  grpc::ClientContext await_context;
  prepare(await_context);
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

// One server under load.
template <typename Response>
class Side {
 public:
  Side(const ServerProcess& server, typename ClosedLoop<Response>::Start start)
      : server_(server), loop_(std::move(start)) {}

  void WarmUp(int in_flight) {
    calls_per_second_.clear();
    loop_.CallsPerSecond(in_flight, kWarmUpSeconds);
    calls_before_ = loop_.calls();
    cpu_before_ = server_.CpuSeconds();
  }
  // Returns the calls per second of this round.
  double Round(int in_flight) {
    calls_per_second_.push_back(loop_.CallsPerSecond(in_flight, kRoundSeconds));
    return calls_per_second_.back();
  }
  // Adds the measurements after the warm-up.
  void Report(const std::string& name, int in_flight, Json& figures) const {
    const double cpu_us = (server_.CpuSeconds() - cpu_before_) * 1e6;
    figures[absl::StrCat(name, "_calls_per_second_", in_flight)] =
        Median(calls_per_second_);
    figures[absl::StrCat(name, "_cpu_us_per_call_", in_flight)] =
        cpu_us / static_cast<double>(loop_.calls() - calls_before_);
  }
  [[nodiscard]] uint64_t calls() const { return loop_.calls(); }

 private:
  const ServerProcess& server_;
  ClosedLoop<Response> loop_;
  std::vector<double> calls_per_second_;
  uint64_t calls_before_ = 0;
  double cpu_before_ = 0;
};

using Bare = Side<EchoResponse>;
using Actord = Side<v1::SendResponse>;

void Compare(int in_flight, Bare& bare, Actord& actord, Json& figures) {
  bare.WarmUp(in_flight);
  actord.WarmUp(in_flight);
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    const double bare_calls = bare.Round(in_flight);
    // Both rates of a round had the same noise.
    ratios.push_back(actord.Round(in_flight) / bare_calls);
  }
  figures[absl::StrCat("ratio_", in_flight)] = Median(ratios);
  bare.Report("bare", in_flight, figures);
  actord.Report("actord", in_flight, figures);
}

}  // namespace

Json CompareUnary(const Compared& bare_server, const Compared& actord_server,
                  const Prepare& prepare) {
  const auto echo = Echo::NewStub(bare_server.channel);
  const auto service = v1::ActorService::NewStub(actord_server.channel);

  EchoRequest echo_request;
  echo_request.set_id(7);
  echo_request.set_data(std::string(kMessageBytes, 'x'));
  v1::SendRequest send_request;
  send_request.set_pid(SubmitDrain(*service, prepare));
  send_request.mutable_payload()->set_data(std::string(kMessageBytes, 'x'));

  Bare bare(bare_server.server, [&](auto* context, auto* queue) {
    prepare(*context);
    return echo->AsyncUnary(context, echo_request, queue);
  });
  Actord actord(actord_server.server, [&](auto* context, auto* queue) {
    prepare(*context);
    return service->AsyncSend(context, send_request, queue);
  });
  Json figures;
  Compare(1, bare, actord, figures);
  Compare(64, bare, actord, figures);
  ExpectDrained(*service, send_request.pid(), actord.calls(), prepare);
  return figures;
}

}  // namespace actord::bench
