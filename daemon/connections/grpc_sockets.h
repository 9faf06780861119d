// gRPC's numbers of the open connections, by which channelz tells what they do.
//
// A TCP connection is found by its peer. All Unix sockets have the same peer.
// gRPC makes the transport of a Unix socket before HandleNewConnection returns,
// and only one thread accepts, so the new Unix socket is that of the connection
// that was handed over last.
//
// Thread-safety: any thread, but TakeUnix: the thread that accepts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "daemon/connections/channelz.h"

namespace actord::daemon {

class GrpcSockets {
 public:
  // To be called when gRPC's server has started.
  void FindServer();

  // Asks gRPC for its new connections.
  void Refresh();
  // The number of the newest connection of this peer at the last Refresh; 0:
  // gRPC had made no transport for it.
  [[nodiscard]] int64_t Find(const std::string& peer) const;
  // The number of the only Unix socket that gRPC has made since the last call;
  // 0: there is none, or there are several.
  int64_t TakeUnix();
  // The connection of this peer is over.
  void Forget(const std::string& peer);
  // Forgets connections that are over, if there are many beside the `open`
  // ones.
  void Shrink(size_t open);

 private:
  void RefreshLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  Channelz channelz_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int64_t> by_peer_ ABSL_GUARDED_BY(mutex_);
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  // Since the last TakeUnix: how many there are, and the newest one ever.
  int new_unix_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t last_unix_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace actord::daemon
