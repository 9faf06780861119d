// The gRPC server: addresses, limits, health, reflection, and shutdown.
//
// Thread-safety: none, except SetServing. Ownership: borrows the service and
// the connections. The daemon listens until the connections are destroyed.
#pragma once

#include <grpcpp/server.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/connections/connections.h"
#include "daemon/settings/config.h"
#include "daemon/socket_lock.h"
#include "daemon/tls/server_credentials.h"

namespace actord::daemon {

class RpcServer {
 public:
  // The addresses of a configuration, including those of the admin port,
  // reserved against other daemons.
  using Reservation = std::vector<std::unique_ptr<SocketLock>>;
  // UNAVAILABLE if the daemon cannot listen on an address: CannotListen.
  // INVALID_ARGUMENT: CheckOpenListening or CheckAddressList refuses. Blocks
  // while names are looked up.
  static absl::StatusOr<Reservation> Reserve(const Config& config);
  // The largest request that a server of this configuration takes.
  static size_t MaxRequestBytes(const Config& config);
  // Memory for all requests that are being read, and for gRPC's own data of
  // open calls. When it runs out, gRPC reads more slowly and breaks calls off.
  // `request_bytes`: MaxRequestBytes. `memory_bytes`: the limit of the daemon's
  // memory; nullopt: there is none.
  static size_t MaxServerBytes(size_t request_bytes,
                               std::optional<uint64_t> memory_bytes);
  // Starts the server, which serves when Start returns. UNAVAILABLE: as for
  // Reserve. INTERNAL: the system has too few threads, or gRPC refuses the
  // credentials. `tls`: serves TCP with TLS, and must outlive the server; null:
  // without. `reservation` is only told that the sockets exist; it must outlive
  // the connections.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const Config& config, grpc::Service& service, Connections& connections,
      Reservation& reservation, TlsOffer* tls);
  // Stops the server if Stop was not called.
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  // The served addresses: "127.0.0.1:7600", with the actual port.
  [[nodiscard]] const std::vector<std::string>& addresses() const {
    return addresses_;
  }
  // The ports of the TCP addresses, in the order of the configuration.
  [[nodiscard]] const std::vector<int>& ports() const { return ports_; }

  // The largest payload for which requests to this server have room. The value
  // stays the same while the server runs, even if the limits change.
  [[nodiscard]] size_t max_payload_bytes() const { return max_payload_bytes_; }

  // Tells health checks whether to send work here.
  void SetServing(bool serving);
  // Turns new connections away, and lets open calls finish until `grace` has
  // passed. Then cuts all connections. Returns when no call is left.
  void Stop(absl::Duration grace);

 private:
  explicit RpcServer(Connections& connections) : connections_(connections) {}

  absl::Status Listen(const Config& config);

  Connections& connections_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> addresses_;
  std::vector<int> ports_;
  size_t max_payload_bytes_ = 0;
};

}  // namespace actord::daemon
