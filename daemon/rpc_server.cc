#include "daemon/rpc_server.h"

#include <grpc/support/cpu.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <utility>

#include "actord/v1/actor_service.grpc.pb.h"
#include "daemon/listening/cannot_listen.h"
#include "daemon/listening/listen_check.h"
#include "daemon/listening/open_listening.h"
#include "daemon/settings/config_text.h"
#include "daemon/thread_check.h"
#include "daemon/thread_reserve.h"
#include "runtime/system/cgroup.h"
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
// How long calls may continue when their connection has reached its maximum
// age.
constexpr int kConnectionAgeGraceMs = 30'000;
// gRPC reads at most this much at once, not 4 MiB. Bytes that gRPC has not read
// are dropped when a connection is cut.
constexpr int kMaxReadBytes = 32 << 10;
// How long gRPC may take to end the calls of the connections that were cut.
constexpr absl::Duration kShutdownSpare = absl::Seconds(2);
// Clients that wait long may ping this often.
constexpr int kMinClientPingIntervalMs = 10'000;

// The number of gRPC's threads when its server has started: the threads that
// wait for callbacks, kOthers, and the threads of its connections.
size_t ThreadsOfServer() {
  constexpr unsigned kOthers = 8;
  return Connections::kThreads + kOthers +
         std::clamp(gpr_cpu_num_cores() / 2, 2u, 16u);
}

void SetLimits(const Config& config, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(
      static_cast<int>(RpcServer::MaxRequestBytes(config)));
  grpc::ResourceQuota quota("actord");
  quota.Resize(RpcServer::MaxServerBytes(RpcServer::MaxRequestBytes(config),
                                         runtime::CgroupMemoryLimit("")));
  builder.SetResourceQuota(quota);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             config.max_concurrent_streams);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kMaxReadBytes);
  builder.AddChannelArgument(
      GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
      static_cast<int>(absl::ToInt64Milliseconds(config.handshake_timeout)));
  if (config.max_connection_age != absl::InfiniteDuration()) {
    builder.AddChannelArgument(
        GRPC_ARG_MAX_CONNECTION_AGE_MS,
        static_cast<int>(absl::ToInt64Milliseconds(config.max_connection_age)));
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                               kConnectionAgeGraceMs);
  }
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

absl::Status CheckAddresses(const std::string& key,
                            const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) {
    const std::string reason = WhyNotListening(address);
    if (!reason.empty()) return CannotListen(key, address, reason);
  }
  return absl::OkStatus();
}

// Takes the locks of the Unix sockets among the addresses.
absl::Status LockSockets(const std::string& key,
                         const std::vector<std::string>& addresses,
                         RpcServer::Reservation& reservation) {
  for (const std::string& text : addresses) {
    const auto address = ParseListenAddress(text);
    if (!address.ok() || !address->is_unix) continue;
    const std::string reason = WhyNoSocketPath(address->path);
    if (!reason.empty()) return CannotListen(key, text, reason);
    auto lock = SocketLock::Take(address->path);
    if (!lock.ok()) {
      return CannotListen(key, text, std::string(lock.status().message()));
    }
    reservation.push_back(*std::move(lock));
  }
  return absl::OkStatus();
}

}  // namespace

size_t RpcServer::MaxRequestBytes(const Config& config) {
  return 2 * config.runtime.max_payload_bytes + kRequestOverheadBytes;
}

size_t RpcServer::MaxServerBytes(size_t request_bytes,
                                 std::optional<uint64_t> memory_bytes) {
  const size_t many = std::max(kMinServerBytes, 8 * request_bytes);
  // The other half of the memory is for the daemon's own data.
  const uint64_t half = memory_bytes.value_or(UINT64_MAX) / 2;
  return std::min(many, std::max<size_t>(request_bytes, half));
}

absl::StatusOr<RpcServer::Reservation> RpcServer::Reserve(
    const Config& config) {
  absl::Status status = CheckOpenListening(config);
  if (status.ok()) status = CheckAddressList(config);
  if (!status.ok()) return status;
  Reservation reservation;
  status = LockSockets(kListenKey, config.listen, reservation);
  if (status.ok()) {
    status = LockSockets(kAdminListenKey, config.admin_listen, reservation);
  }
  if (status.ok()) status = CheckAddresses(kListenKey, config.listen);
  if (status.ok()) {
    status = CheckAddresses(kAdminListenKey, config.admin_listen);
  }
  if (!status.ok()) return status;
  return reservation;
}

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const Config& config, grpc::Service& service, Connections& connections,
    Reservation& reservation, TlsOffer* tls) {
  absl::Status status = CheckAddresses(kListenKey, config.listen);
  if (status.ok()) status = ThreadReserve::Fill();
  if (status.ok()) status = CheckThreads(ThreadsOfServer(), "gRPC's server");
  if (!status.ok()) return status;
  std::unique_ptr<RpcServer> server(new RpcServer(connections));
  for (const auto& lock : reservation) lock->SetBound();
  status = server->Listen(config);
  if (!status.ok()) return status;
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetLimits(config, builder);
  connections.AddTo(builder, tls == nullptr ? grpc::InsecureServerCredentials()
                                            : MakeTlsCredentials(*tls));
  builder.RegisterService(&service);
  server->max_payload_bytes_ =
      MaxRequestBytes(config) - kMinRequestOverheadBytes;
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || (tls != nullptr && !IsTaken(*tls))) {
    return absl::InternalError("gRPC did not start the server");
  }
  server->server_->GetHealthCheckService()->SetServingStatus(
      v1::ActorService::service_full_name(), true);
  status = connections.Serve();
  if (!status.ok()) return status;
  return server;
}

absl::Status RpcServer::Listen(const Config& config) {
  for (const int fd : config.inherited_sockets) {
    const InheritedAddress inherited = connections_.ListenOn(fd);
    if (inherited.port != 0) ports_.push_back(inherited.port);
    addresses_.push_back(inherited.text);
  }
  for (const std::string& address : config.listen) {
    const auto port = connections_.Listen(
        address, {.mode = config.unix_mode, .group = config.unix_group});
    if (!port.ok()) {
      // Another program has taken the address since the check.
      return CannotListen(kListenKey, address,
                          std::string(port.status().message()));
    }
    if (*port != 0) ports_.push_back(*port);
    addresses_.push_back(*port != 0 ? WithPort(address, *port) : address);
  }
  return absl::OkStatus();
}

RpcServer::~RpcServer() { Stop(absl::ZeroDuration()); }

void RpcServer::SetServing(bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(serving);
}

void RpcServer::Stop(absl::Duration grace) {
  connections_.StopAccepting();
  if (server_ == nullptr) return;
  connections_.CutAllIn(grace);
  const absl::Time now = absl::FromUnixNanos(
      static_cast<int64_t>(runtime::Clock::System().UnixNs()));
  server_->Shutdown(absl::ToChronoTime(now + grace + kShutdownSpare));
  server_->Wait();
  server_.reset();
}

}  // namespace actord::daemon
