// The lock of a Unix socket's path: a file beside the socket, PATH.lock. The
// daemon that holds the lock may remove a stale socket at the path, and serve.
//
// A socket alone is not enough. If nothing answers at the socket, its daemon
// may be gone or may be about to serve. Two daemons that start at once cannot
// tell these cases apart.
//
// The lock is an flock, so the system releases it when the program ends in any
// way. A lock file that stays behind is harmless. The owner removes the file
// while it holds the lock. A daemon that gets the lock of a removed file opens
// the path again and tries that file.
//
// Thread-safety: none. Ownership: owns the lock.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace actord::daemon {

class SocketLock {
 public:
  // UNAVAILABLE: another program holds the lock, or the file cannot be created;
  // the message says why.
  static absl::StatusOr<std::unique_ptr<SocketLock>> Take(
      const std::string& socket_path);
  // Releases the lock.
  ~SocketLock();
  SocketLock(const SocketLock&) = delete;
  SocketLock& operator=(const SocketLock&) = delete;

  // From now on the daemon's socket may exist. The lock file is then removed
  // only if the socket is gone.
  void SetBound() { is_bound_ = true; }

 private:
  SocketLock(std::string socket_path, int descriptor);

  const std::string socket_path_;
  const int descriptor_;
  bool is_bound_ = false;
};

}  // namespace actord::daemon
