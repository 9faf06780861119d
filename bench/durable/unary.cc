// Send to durable processes of a separate daemon, with one client and with 64:
// each has a process of its own, sends a message of 64 bytes, waits until it is
// acknowledged, which is when its record is synced, and sends the next.
//
// In the same round, the same client calls a bare gRPC server. One client also
// calls a bare server that appends 64 bytes to a file and syncs before it
// answers. The floor is as many writers, which each append 64 bytes and sync.
#include <grpcpp/create_channel.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "bench/bench_runtime.h"
#include "bench/durable/durable_server.h"
#include "bench/durable/floor.h"
#include "bench/median.h"
#include "bench/processes/durable.h"
#include "bench/rpc/closed_loop.h"
#include "bench/rpc/echo.grpc.pb.h"
#include "bench/rpc/receivers.h"
#include "bench/rpc/server_process.h"
#include "bench/workload.h"

namespace actord::bench {
namespace {

constexpr size_t kUnaryBytes = 64;
constexpr int kUnaryRounds = 5;
constexpr double kUnarySeconds = 0.5;
constexpr double kUnaryWarmUpSeconds = 0.2;
// Appends of a floor's round: some tenths of a second.
constexpr uint64_t kFloorAppendsOfOne = 2'000;
constexpr uint64_t kFloorAppendsOfMany = 30'000;

// Sends to receivers in turn.
class UnarySends {
 public:
  UnarySends(v1::ActorService::Stub& stub, int clients)
      : receivers_(stub, DurableDrain::kName, clients, v1::DURABILITY_DURABLE),
        stub_(stub),
        loop_(
            [this](auto* context, auto* queue) {
              const v1::SendRequest& request = requests_[next_];
              next_ = (next_ + 1) % requests_.size();
              return stub_.AsyncSend(context, request, queue);
            },
            &waits_us_) {
    for (const std::string& pid : receivers_.pids()) {
      v1::SendRequest& request = requests_.emplace_back();
      request.set_pid(pid);
      request.mutable_payload()->set_data(std::string(kUnaryBytes, 'x'));
    }
  }

  double Run(double seconds) {
    return loop_.CallsPerSecond(static_cast<int>(requests_.size()), seconds);
  }
  void ForgetWaits() { waits_us_.clear(); }
  [[nodiscard]] const std::vector<double>& waits_us() const {
    return waits_us_;
  }
  // Ends the processes, and checks that they have all messages.
  void Finish() {
    for (const v1::SendRequest& request : requests_) {
      grpc::ClientContext context;
      v1::SendRequest end;
      end.set_pid(request.pid());
      end.set_topic("end");
      v1::SendResponse response;
      const grpc::Status status = stub_.Send(&context, end, &response);
      if (!status.ok()) Fail("a send failed: " + status.error_message());
    }
    const uint64_t received = receivers_.WaitForAll();
    receivers_.Finish();
    Expect("the count of messages received", loop_.calls(), received);
  }

 private:
  Receivers receivers_;
  v1::ActorService::Stub& stub_;
  std::vector<v1::SendRequest> requests_;
  size_t next_ = 0;
  std::vector<double> waits_us_;
  ClosedLoop<v1::SendResponse> loop_;
};

void Measure(int clients, v1::ActorService::Stub& stub, Echo::Stub& echo,
             Floor& floor, Json& figures) {
  EchoRequest echo_request;
  echo_request.set_id(7);
  echo_request.set_data(std::string(kUnaryBytes, 'x'));
  ClosedLoop<EchoResponse> bare([&](auto* context, auto* queue) {
    return echo.AsyncUnary(context, echo_request, queue);
  });
  // With more clients the writes of this server would wait for each other.
  ClosedLoop<EchoResponse> synced([&](auto* context, auto* queue) {
    return echo.AsyncUnaryWithSync(context, echo_request, queue);
  });
  if (clients == 1) synced.CallsPerSecond(clients, kUnaryWarmUpSeconds);
  UnarySends sends(stub, clients);
  bare.CallsPerSecond(clients, kUnaryWarmUpSeconds);
  sends.Run(kUnaryWarmUpSeconds);
  sends.ForgetWaits();
  std::vector<double> rates, bare_rates, floor_rates, floor_p50_us, shares,
      synced_rates, synced_shares;
  for (int round = 0; round < kUnaryRounds; ++round) {
    const Floor::Rate of_floor =
        floor.Run(clients, kUnaryBytes,
                  clients == 1 ? kFloorAppendsOfOne : kFloorAppendsOfMany);
    const double of_bare = bare.CallsPerSecond(clients, kUnarySeconds);
    rates.push_back(sends.Run(kUnarySeconds));
    bare_rates.push_back(of_bare);
    floor_rates.push_back(of_floor.appends_per_second);
    floor_p50_us.push_back(of_floor.p50_us);
    // The share of the rate that a call and then a sync would reach.
    const double share_of_one = 1 / of_floor.appends_per_second + 1 / of_bare;
    shares.push_back(rates.back() * share_of_one);
    if (clients != 1) continue;
    synced_rates.push_back(synced.CallsPerSecond(clients, kUnarySeconds));
    synced_shares.push_back(synced_rates.back() * share_of_one);
  }
  const auto figure = [&](const char* name, double value) {
    figures[absl::StrCat(name, "_", clients)] = value;
  };
  figure("messages_per_second", Median(rates));
  figure("p50_us", Median(sends.waits_us()));
  figure("p99_us", Quantile(sends.waits_us(), 0.99));
  figure("bare_calls_per_second", Median(bare_rates));
  figure("floor_messages_per_second", Median(floor_rates));
  figure("floor_p50_us", Median(floor_p50_us));
  figure("share_of_floor_and_bare", Median(shares));
  if (clients == 1) {
    figure("bare_with_sync_calls_per_second", Median(synced_rates));
    figure("share_of_bare_with_sync", Median(synced_shares));
  }
  sends.Finish();
}

}  // namespace

Json RunDurableUnary(const WorkloadOptions& options) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Both must start before the client's threads.
  const ServerProcess bare(ProgramPath("actord_bench_echo"), {});
  const DurableServer server(options.workers);
  const auto echo = Echo::NewStub(
      grpc::CreateChannel(bare.address(), grpc::InsecureChannelCredentials()));
  const auto stub = server.NewStub();
  Floor floor(server.directory());
  Json figures;
  Measure(1, *stub, *echo, floor, figures);
  Measure(64, *stub, *echo, floor, figures);
  return figures;
}

}  // namespace actord::bench
