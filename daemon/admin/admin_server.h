// The HTTP/1.1 server of the admin port: one thread for all connections and for
// the pages, so a request for a page never waits for gRPC or for a worker of
// the scheduler. AdminCalls answers other requests on another thread.
//
// Everything that a client can use is bounded (AdminLimits). At the limit of
// connections a new client gets the place of the connection that has waited
// longest for its client, so slow or silent clients do not keep a load balancer
// out. If there is no descriptor for a new connection, it is accepted with a
// spare descriptor and closed.
//
// Thread-safety: Start, Stop and the destructor are for one thread. Ownership:
// owns the listeners and its thread; borrows logger and clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/admin/admin_calls.h"
#include "daemon/admin/admin_request.h"
#include "daemon/admin/allowed_hosts.h"
#include "daemon/connections/http_clients.h"
#include "daemon/listening/listener.h"
#include "daemon/log/logging.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

struct AdminLimits {
  // More than AdminCalls has calls, so that open calls leave room for the
  // pages.
  size_t connections = 128;
  size_t header_bytes = 8 << 10;
  size_t body_bytes = 4 << 10;  // of a request for a page
  // The bodies of all calls that are read or not answered yet, and the answers
  // that the clients have not taken.
  size_t all_bodies_bytes = 64 << 20;
  // Time from the first byte of a request to its last; for a new connection,
  // from the connect.
  std::chrono::milliseconds request{10'000};
  // Time from the header of a call to the last byte of its body.
  std::chrono::milliseconds body{30'000};
  // Time between two parts of an answer after which a heartbeat is written.
  std::chrono::milliseconds heartbeat{15'000};
  // Time from an answer to the next request.
  std::chrono::milliseconds idle{120'000};
  // Time for the client to take a whole answer, or a part of an event stream.
  std::chrono::milliseconds answer{10'000};
  // Time for the client to close the connection after the last answer.
  std::chrono::milliseconds linger{1'000};
};

class AdminServer {
 public:
  struct Options {
    std::vector<std::unique_ptr<Listener>> listeners;
    AllowedHosts hosts;
    // Both run on the server's thread, and must not block.
    std::function<AdminAnswer(const AdminRequest&, const AdminCounts&)> answer;
    std::function<void()> each_second;
    AdminLimits limits = {};
    // Null: there are none. Must outlive the server, and must not call `done`
    // any more when the server is destroyed.
    AdminCalls* calls = nullptr;
    // Learns of each connection and request. Null: nobody does. Must outlive
    // the server.
    HttpClients* clients = nullptr;
  };

  // INTERNAL: the system has no thread or no descriptor left.
  static absl::StatusOr<std::unique_ptr<AdminServer>> Start(
      Options options, Logger& logger, const runtime::Clock& clock);
  // Stops the server if Stop was not called.
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  // Writes the answers that are ready as far as the sockets have room, and
  // breaks off all connections. Waits for a running function of the options;
  // none runs after Stop has returned. Idempotent.
  void Stop();

 private:
  class Loop;
  explicit AdminServer(std::unique_ptr<Loop> loop);

  const std::unique_ptr<Loop> loop_;
};

}  // namespace actord::daemon
