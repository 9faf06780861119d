// The open connections of the daemon, with their clients; and a way to cut a
// single connection.
//
// gRPC owns the sockets, and does not report when it closes one. A connection
// has ended when its descriptor is closed or has the cookie of another socket.
// Sweep checks for that. A new connection with the descriptor of an old
// connection ends the old one at once.
//
// Thread-safety: any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "daemon/connections/socket_facts.h"
#include "daemon/tls/tls_handshake.h"

namespace actord::daemon {

// The token that a call of a connection has presented. Constant.
struct PresentedToken {
  std::string name;
  std::string id;
  std::string role;
};

struct Connection {
  // Never used again in this run of the daemon; 0: not added yet.
  uint64_t id = 0;
  int fd = -1;
  uint64_t cookie = 0;
  // As gRPC's `peer()` spells it. Add names a Unix socket (unix_peer_name.h).
  std::string peer;
  // peer_address.h; "" for a Unix socket.
  std::string address_group;
  uint64_t since_unix_ns = 0;
  // Only for a Unix socket.
  std::optional<PeerCredentials> credentials;
  // The listening socket that accepted it.
  int listener = -1;
  // Null: the connection has no TLS.
  std::shared_ptr<TlsHandshake> handshake;
  // The newest token; null: none so far.
  std::shared_ptr<const PresentedToken> token;
  // Tokens of different names were presented.
  bool has_several_owners = false;
  // The token by which the connection counts for a client; null: it counts for
  // none.
  std::shared_ptr<const PresentedToken> counted;
  // The connection is above the quota of its client.
  bool is_over_quota = false;
  // CutOne has cut it.
  bool is_cut = false;

  // Whether a client that sees only the owner `owner` may see the connection:
  // only tokens of this name were presented. "": the client sees all.
  [[nodiscard]] bool IsSeenBy(std::string_view owner) const {
    return owner.empty() ||
           (token != nullptr && token->name == owner && !has_several_owners);
  }
};

class ConnectionRegistry {
 public:
  // An id that no connection has.
  uint64_t NewId() {
    const absl::MutexLock lock(&mutex_);
    return ++last_id_;
  }
  // Adds the connection, and returns its id. To be called before gRPC
  // has the descriptor.
  uint64_t Add(Connection connection);
  // Removes a connection that gRPC has not taken.
  void Remove(uint64_t id);

  // Removes connections that have ended. Examines at most `max` connections;
  // the next Sweep continues after them.
  void Sweep(size_t max);

  [[nodiscard]] size_t open() const;
  [[nodiscard]] size_t OpenOf(std::string_view address_group) const;
  // In no order.
  [[nodiscard]] std::vector<Connection> List() const;
  // The connections with an id above `after` that `owner` sees, by id; `max` at
  // most.
  [[nodiscard]] std::vector<Connection> ListAfter(
      uint64_t after, size_t max, std::string_view owner = {}) const;
  // nullopt: it has ended.
  [[nodiscard]] std::optional<Connection> Find(uint64_t id) const;
  [[nodiscard]] std::optional<int> FindDescriptor(uint64_t id) const;
  // The newest connection of this peer; 0: none.
  [[nodiscard]] uint64_t FindPeer(std::string_view peer) const;

  // The first token of a connection counts the connection for the name of the
  // token. False: there are `max` connections of this name already (0: there is
  // no limit), and the connection stays above the quota until it ends.
  bool SetToken(uint64_t id, std::shared_ptr<const PresentedToken> token,
                size_t max = 0);

  // Cuts the connection (socket_facts.h), and its calls are cancelled. False:
  // the connection has ended, or there is no descriptor left at the moment.
  bool CutOne(uint64_t id, Cut how);
  // The connections over the Unix socket `listener` that CutOne has cut and
  // that gRPC has not closed, because it still cleans up their calls.
  size_t CountCutOver(int listener);
  // Cuts every connection, and returns the number.
  size_t CutAll(Cut how);

 private:
  void RemoveLocked(int fd) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] size_t OfNameLocked(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether there is room for one more connection of this name. If there seems
  // to be no room, first removes connections of this name that have ended.
  bool HasRoomLocked(const std::string& name, size_t max)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Null: the connection has ended.
  Connection* FindLocked(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<int, Connection> by_fd_ ABSL_GUARDED_BY(mutex_);
  absl::btree_map<uint64_t, int> fd_of_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, size_t> of_group_ ABSL_GUARDED_BY(mutex_);
  // The number of counted connections, by the name of the token.
  absl::flat_hash_map<std::string, size_t> of_name_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, uint64_t> of_peer_ ABSL_GUARDED_BY(mutex_);
  // The Unix connections that were cut, until CountCutOver finds them ended.
  std::vector<uint64_t> cut_unix_ ABSL_GUARDED_BY(mutex_);
  // The descriptors that this round of Sweep has not examined.
  std::vector<int> to_sweep_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::daemon
