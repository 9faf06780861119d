// All connections of the daemon: listens, accepts, limits, lists and cuts.
//
// gRPC is given accepted sockets and does not listen. The order of the calls:
//  1. Listen binds the addresses. Clients may connect, and wait.
//  2. AddTo, before gRPC's server is built.
//  3. Serve, when gRPC's server has started.
//  4. StopAccepting, before gRPC's server is shut down, because gRPC leaks
//     connections that come later. From then on clients that connect are cut
//     at once.
//  5. CutAllIn, with the time that the open calls still have.
//  6. The destructor, when gRPC's server has ended. It closes the listening
//     sockets. A client that is refused may conclude that the daemon has gone
//     (Daemon::~Daemon), so it is called as late as possible.
//
// Thread-safety: the calls above are for one thread; all others are for any
// thread. Ownership: owns listeners and threads; borrows logger and clock.
#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/connections/acceptor.h"
#include "daemon/connections/channelz.h"
#include "daemon/connections/connection_counts.h"
#include "daemon/connections/grpc_sockets.h"
#include "daemon/connections/guard.h"
#include "daemon/connections/http_clients.h"
#include "daemon/connections/registry.h"
#include "daemon/connections/socket_facts.h"
#include "daemon/counters/stats.h"
#include "daemon/listening/listener.h"
#include "daemon/log/spaced_warning.h"
#include "daemon/settings/config.h"

namespace actord::daemon {

// An inherited socket's address, and its port; 0: a Unix socket.
struct InheritedAddress {
  std::string text;
  int port = 0;
};

// The known facts about an open connection at one moment.
struct ConnectionFacts {
  Connection connection;
  // The address on which the daemon accepted it.
  std::string listener;
  // nullopt: a Unix socket.
  std::optional<Traffic> traffic;
  // nullopt: the handshake is not done.
  std::optional<SocketCounts> counts;
  // It is a connection to the admin port, and a request is a call of `counts`.
  bool is_http = false;
};

class Connections {
 public:
  // The threads that Serve starts.
  static constexpr size_t kThreads = 2;

  // `max_request_bytes`: the largest request that gRPC takes.
  Connections(const Config& config, uint64_t max_request_bytes, Logger& logger,
              const runtime::Clock& clock);
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Binds the address, with the errors of Listener::Open. Returns its port, 0:
  // a Unix socket.
  absl::StatusOr<int> Listen(const std::string& address,
                             const UnixAccess& access);
  // Listens on a socket of a service manager (inherited_sockets.h), too.
  InheritedAddress ListenOn(int fd);
  // `tcp`: the credentials of TCP connections. Connections over Unix sockets
  // are plain: the system lets only the permitted users connect, and nobody can
  // read their traffic. Connections of the daemon's own user, and of root, over
  // a Unix socket come from an acceptor of their own: the auth context of their
  // calls has transport_security_type = "local".
  void AddTo(grpc::ServerBuilder& builder,
             const std::shared_ptr<grpc::ServerCredentials>& tcp);
  // INTERNAL: the system has no thread or no descriptor left.
  absl::Status Serve();
  // Closes the sockets of a service manager, so that their clients wait for the
  // next daemon.
  void StopAccepting();
  void CutAllIn(absl::Duration patience);

  // The open connections, those of the admin port included, with an id above
  // `after` that `owner` sees (Connection::IsSeenBy), by id; `max` at most.
  // `last` is set to the id after which the next page begins; 0: this is the
  // last page.
  [[nodiscard]] std::vector<ConnectionFacts> List(uint64_t after, size_t max,
                                                  std::string_view owner,
                                                  uint64_t& last);
  // Cuts the connection, and logs that `by` has asked for it. False: the
  // connection is not open, or `owner` does not see it.
  bool CutOnRequest(uint64_t id, std::string_view owner, const std::string& by);

  // Cuts a connection above the quota of its client, whose calls were refused.
  void CutOverQuota(uint64_t id);

  // Cuts the connection of a client whose certificate is revoked. One thread at
  // a time.
  void CutRevoked(uint64_t id, const std::string& subject);

  [[nodiscard]] ConnectionRegistry& registry() { return registry_; }
  // The connections to the admin port.
  [[nodiscard]] HttpClients& http_clients() { return http_clients_; }
  // The maximum number of open connections, without those of the admin port.
  [[nodiscard]] uint64_t max_open() const { return max_open_; }
  [[nodiscard]] uint64_t max_open_of_address() const {
    return max_open_of_address_;
  }
  // Sets the counters of connections.
  void WriteStats(DaemonStats& stats) const;

 private:
  // Adds the connections of the admin port to a page of List.
  void AddHttp(uint64_t after, size_t max, std::string_view owner,
               uint64_t& last, std::vector<ConnectionFacts>& page) const;
  // Sets the name of the listener's sockets.
  void Name(const Listener& listener, const std::string& name);
  // Hands an accepted connection to gRPC.
  void HandOver(int listener, uint64_t id, int fd, bool is_tcp);

  const bool has_tls_;
  Logger& logger_;
  const uint64_t max_open_;
  const uint64_t max_open_of_address_;
  ConnectionRegistry registry_;
  HttpClients http_clients_{registry_};
  GrpcSockets sockets_;
  ConnectionCounts counts_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  // The addresses of the listening sockets. Constant from Serve on.
  absl::flat_hash_map<int, std::string> listener_names_;
  using GrpcAcceptor = grpc::experimental::ExternalConnectionAcceptor;
  std::unique_ptr<GrpcAcceptor> grpc_tcp_;
  std::unique_ptr<GrpcAcceptor> grpc_unix_;
  std::unique_ptr<GrpcAcceptor> grpc_local_user_;
  SpacedWarning revoked_warning_;
  ConnectionGuard guard_;
  Acceptor acceptor_;
};

}  // namespace actord::daemon
