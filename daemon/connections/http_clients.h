// The open connections to the admin port, with their clients, for the list of
// clients. The server of the port owns the sockets, and reports the begin and
// the end of each connection and of each request.
//
// Thread-safety: any thread. Ownership: borrows the registry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/synchronization/mutex.h"
#include "daemon/connections/registry.h"
#include "daemon/connections/socket_facts.h"

namespace actord::daemon {

class HttpClients {
 public:
  struct Client {
    Connection connection;
    // The address on which the daemon accepted it.
    std::string listener;
    // Requests that have begun, and whether one has no answer yet.
    uint64_t requests = 0;
    bool is_busy = false;
  };

  // The connections have numbers of `registry`, and are not in it.
  explicit HttpClients(ConnectionRegistry& registry) : registry_(registry) {}
  HttpClients(const HttpClients&) = delete;
  HttpClients& operator=(const HttpClients&) = delete;

  // Adds an open connection, and returns its number.
  uint64_t Add(Client client) {
    const uint64_t id = registry_.NewId();
    client.connection.id = id;
    client.connection.cookie = SocketCookie(client.connection.fd);
    const absl::MutexLock lock(&mutex_);
    clients_.emplace(id, std::move(client));
    return id;
  }
  // To be called before the socket is closed.
  void Remove(uint64_t id) {
    const absl::MutexLock lock(&mutex_);
    clients_.erase(id);
  }

  void RequestBegun(uint64_t id) {
    const absl::MutexLock lock(&mutex_);
    const auto found = clients_.find(id);
    if (found == clients_.end()) return;
    ++found->second.requests;
    found->second.is_busy = true;
  }
  void RequestEnded(uint64_t id) {
    const absl::MutexLock lock(&mutex_);
    const auto found = clients_.find(id);
    if (found != clients_.end()) found->second.is_busy = false;
  }
  // Notes the token of a call.
  void SetToken(uint64_t id, std::string_view name, std::string_view token_id,
                std::string_view role) {
    const absl::MutexLock lock(&mutex_);
    const auto found = clients_.find(id);
    if (found == clients_.end()) return;
    Connection& connection = found->second.connection;
    if (connection.token != nullptr && connection.token->id == token_id &&
        connection.token->name == name) {
      return;
    }
    if (connection.token != nullptr && connection.token->name != name) {
      connection.has_several_owners = true;
    }
    connection.token = std::make_shared<const PresentedToken>(
        PresentedToken{.name = std::string(name),
                       .id = std::string(token_id),
                       .role = std::string(role)});
  }

  // As ConnectionRegistry::ListAfter.
  [[nodiscard]] std::vector<Client> ListAfter(uint64_t after, size_t max,
                                              std::string_view owner) const {
    const absl::MutexLock lock(&mutex_);
    std::vector<Client> page;
    for (auto it = clients_.upper_bound(after);
         it != clients_.end() && page.size() < max; ++it) {
      if (it->second.connection.IsSeenBy(owner)) page.push_back(it->second);
    }
    return page;
  }
  // Cuts the connection, if `owner` sees it. Returns its peer; "": it is not
  // open, or not seen.
  std::string Cut(uint64_t id, std::string_view owner) {
    // With the lock, so that the server does not close the socket meanwhile.
    const absl::MutexLock lock(&mutex_);
    const auto found = clients_.find(id);
    if (found == clients_.end()) return "";
    Connection& connection = found->second.connection;
    if (!connection.IsSeenBy(owner) ||
        !CutSocket(connection.fd, connection.cookie, daemon::Cut::kEnd)) {
      return "";
    }
    connection.is_cut = true;
    return connection.peer;
  }

 private:
  ConnectionRegistry& registry_;
  mutable absl::Mutex mutex_;
  absl::btree_map<uint64_t, Client> clients_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::daemon
