// The gRPC server: addresses, limits, health, reflection, and its end.
//
// Thread-safety: none, but for SetNotServing. Ownership: borrows the service.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/settings/config.h"
#include "daemon/socket_lock.h"

namespace actord::daemon {

class RpcServer {
 public:
  // The addresses of a configuration that no other daemon gets meanwhile.
  using Reservation = std::vector<std::unique_ptr<SocketLock>>;
  // UNAVAILABLE if an address cannot be listened on; the message names it and
  // says why. INVALID_ARGUMENT: a Unix socket is listed twice. Blocks for the
  // look-up of names.
  static absl::StatusOr<Reservation> Reserve(const Config& config);
  // Serves when it returns. UNAVAILABLE as above. INTERNAL: the system has too
  // few threads.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const Config& config, grpc::Service& service, Reservation reservation);
  // Stops if nobody did.
  ~RpcServer();
  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;

  // What is served: "127.0.0.1:7600", with the port that was picked.
  [[nodiscard]] const std::vector<std::string>& addresses() const {
    return addresses_;
  }
  // Of the TCP addresses, in the order of the configuration.
  [[nodiscard]] const std::vector<int>& ports() const { return ports_; }

  // The largest payload that requests to this server have room for, whatever
  // the limits become while it runs.
  [[nodiscard]] size_t max_payload_bytes() const { return max_payload_bytes_; }

  // Tells health checks to send work elsewhere.
  void SetNotServing();
  // Lets calls that are open end until `grace` has passed, then breaks them
  // off. Returns when no call is left.
  void Stop(absl::Duration grace);

 private:
  RpcServer() = default;

  Reservation reservation_;  // goes last
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::string> addresses_;
  std::vector<int> ports_;
  size_t max_payload_bytes_ = 0;
};

}  // namespace actord::daemon
