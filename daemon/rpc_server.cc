#include "daemon/rpc_server.h"

#include <grpc/support/cpu.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "daemon/settings/config_text.h"
#include "daemon/settings/listen_check.h"
#include "daemon/thread_check.h"
#include "runtime/system/clock.h"

namespace actord::daemon {
namespace {

// A request may take twice the payload limit, plus this overhead. If a payload
// exceeds the limit but its request fits, the error names the field. If the
// request does not fit, gRPC breaks off the call with RESOURCE_EXHAUSTED.
constexpr size_t kRequestOverheadBytes = 4 << 20;
// The part of the overhead that a request needs at least, beside its payload.
constexpr size_t kMinRequestOverheadBytes = 1 << 20;
// Room for many requests at a time.
constexpr size_t kMinServerBytes = size_t{1} << 30;
// A client that vanishes silently is noticed after this time.
constexpr int kKeepaliveTimeMs = 60'000;
constexpr int kKeepaliveTimeoutMs = 20'000;
// Clients that wait long may ping this often.
constexpr int kMinClientPingIntervalMs = 10'000;

// The number of gRPC's threads when its server has started: the threads that
// wait for callbacks, and kOthers.
size_t ThreadsOfServer() {
  constexpr unsigned kOthers = 8;
  return kOthers + std::clamp(gpr_cpu_num_cores() / 2, 2u, 16u);
}

size_t MaxRequestBytes(const Config& config) {
  return 2 * config.runtime.max_payload_bytes + kRequestOverheadBytes;
}

// Memory for all requests that are being read, and for gRPC's own data of open
// calls. When it runs out, gRPC reads more slowly and breaks calls off.
size_t MaxServerBytes(const Config& config) {
  return std::max(kMinServerBytes, 8 * MaxRequestBytes(config));
}

void SetLimits(const Config& config, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(MaxRequestBytes(config)));
  grpc::ResourceQuota quota("actord");
  quota.Resize(MaxServerBytes(config));
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             config.max_concurrent_streams);
  // Port sharing is off, because two daemons on one port would share the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveTimeMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      kMinClientPingIntervalMs);
  // Only reflection uses threads that wait for calls.
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
}

std::string WithPort(const std::string& address, int port) {
  return absl::StrCat(address.substr(0, address.rfind(':')), ":", port);
}

absl::Status CannotListen(const std::string& address,
                          const std::string& reason) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address, ": ",
                   reason.empty() ? "see gRPC's warning" : reason));
}

absl::Status CheckAddresses(const Config& config) {
  for (const std::string& address : config.listen) {
    const std::string reason = WhyNotListening(address);
    if (!reason.empty()) return CannotListen(address, reason);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RpcServer::Reservation> RpcServer::Reserve(
    const Config& config) {
  Reservation reservation;
  for (auto it = config.listen.begin(); it != config.listen.end(); ++it) {
    const auto address = ParseListenAddress(*it);
    if (!address.ok() || !address->is_unix) continue;
    if (std::find(config.listen.begin(), it, *it) != it) {
      return absl::InvalidArgumentError(
          absl::StrCat("server.listen: ", *it, " is listed twice"));
    }
    const std::string reason = WhyNoSocketPath(address->path);
    if (!reason.empty()) return CannotListen(*it, reason);
    auto lock = SocketLock::Take(address->path);
    if (!lock.ok()) {
      return CannotListen(*it, std::string(lock.status().message()));
    }
    reservation.push_back(*std::move(lock));
  }
  absl::Status status = CheckAddresses(config);
  if (!status.ok()) return status;
  return reservation;
}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const Config& config, grpc::Service& service, Reservation reservation) {
  absl::Status status = CheckAddresses(config);
  if (status.ok()) status = CheckThreads(ThreadsOfServer(), "gRPC's server");
  if (!status.ok()) return status;
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetLimits(config, builder);
  std::vector<int> bound(config.listen.size(), 0);
  for (size_t i = 0; i < bound.size(); ++i) {
    builder.AddListeningPort(config.listen[i],
                             grpc::InsecureServerCredentials(), &bound[i]);
  }
  builder.RegisterService(&service);
  std::unique_ptr<RpcServer> server(new RpcServer);
  server->max_payload_bytes_ =
      MaxRequestBytes(config) - kMinRequestOverheadBytes;
  for (const auto& lock : reservation) lock->SetBound();
  server->reservation_ = std::move(reservation);
  server->server_ = builder.BuildAndStart();
  for (size_t i = 0; i < bound.size(); ++i) {
    if (bound[i] > 0) continue;
    // Another program has taken the address since the check, or gRPC has
    // another reason.
    return CannotListen(config.listen[i], WhyNotListening(config.listen[i]));
  }
  if (server->server_ == nullptr) {
    return absl::InternalError("gRPC did not start the server");
  }
  for (size_t i = 0; i < bound.size(); ++i) {
    const auto address = ParseListenAddress(config.listen[i]);
    const bool is_tcp = address.ok() && !address->is_unix;
    if (is_tcp) server->ports_.push_back(bound[i]);
    server->addresses_.push_back(is_tcp ? WithPort(config.listen[i], bound[i])
                                        : config.listen[i]);
  }
  server->server_->GetHealthCheckService()->SetServingStatus(
      v1::ActorService::service_full_name(), true);
  return server;
}

RpcServer::~RpcServer() { Stop(absl::ZeroDuration()); }

void RpcServer::SetNotServing() {
  server_->GetHealthCheckService()->SetServingStatus(false);
}

void RpcServer::Stop(absl::Duration grace) {
  if (server_ == nullptr) return;
  const absl::Time now = absl::FromUnixNanos(
      static_cast<int64_t>(runtime::Clock::System().UnixNs()));
  server_->Shutdown(absl::ToChronoTime(now + grace));
  server_->Wait();
  server_.reset();
}

}  // namespace actord::daemon
