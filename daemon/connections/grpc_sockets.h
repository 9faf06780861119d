// gRPC's numbers of the open connections, with which channelz is asked about
// them.
//
// A connection is found by its peer.
//
// Thread-safety: any thread.
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
  // To be called when the connection of this peer has ended.
  void Forget(const std::string& peer);
  // Forgets connections that have ended, if there are many of them beside the
  // `open` ones.
  void Shrink(size_t open);

 private:
  void RefreshLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  Channelz channelz_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, int64_t> by_peer_ ABSL_GUARDED_BY(mutex_);
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace actord::daemon
