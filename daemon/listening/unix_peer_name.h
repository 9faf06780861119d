// Names for the clients of Unix sockets, by which gRPC's `peer()` tells them
// apart: "unix:17" for connection 17.
//
// Most clients bind their Unix sockets to no name, so `peer()` would be "unix:"
// for all of them. gRPC asks getpeername for the name of a new connection. The
// daemon defines getpeername itself: for a Unix socket within a scope it
// returns the name of that scope, otherwise the kernel's answer.
//
// Thread-safety: any thread; a scope concerns its own thread.
#pragma once

#include <cstdint>
#include <string>

namespace actord::daemon {

// `id`: the number of the connection, not 0.
std::string UnixPeerName(uint64_t id);

// As long as the object lives, getpeername gives the name of connection `id` to
// each Unix socket on this thread. Not to be nested.
class UnixPeerScope {
 public:
  explicit UnixPeerScope(uint64_t id) { id_ = id; }
  ~UnixPeerScope() { id_ = 0; }
  UnixPeerScope(const UnixPeerScope&) = delete;
  UnixPeerScope& operator=(const UnixPeerScope&) = delete;

  // 0: the thread is in no scope.
  [[nodiscard]] static uint64_t Here() { return id_; }

 private:
  static inline constinit thread_local uint64_t id_ = 0;
};

}  // namespace actord::daemon
