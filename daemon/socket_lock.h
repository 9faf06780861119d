// The lock of a Unix socket's path, a file beside it: PATH.lock. Whoever holds
// it may remove a socket that is left over there, and serve.
//
// A socket alone does not do: that nobody answers there may mean that its
// daemon is gone, or that it is about to serve, and both look the same to two
// daemons that start at once.
//
// The lock is flock's, so the system gives it up with the program, however that
// ends; the file then stays, which harms nobody. Its owner removes the file
// while the lock is held, and whoever gets the lock of a file that was removed
// tries again with the file that is there by then.
//
// Thread-safety: none. Ownership: owns the lock.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace actord::daemon {

class SocketLock {
 public:
  // UNAVAILABLE, with the reason in words: another program has it, or the file
  // cannot be made.
  static absl::StatusOr<std::unique_ptr<SocketLock>> Take(
      const std::string& socket_path);
  // Gives the lock up.
  ~SocketLock();
  SocketLock(const SocketLock&) = delete;
  SocketLock& operator=(const SocketLock&) = delete;

  // From now on there may be a socket that somebody else removes at their time,
  // as gRPC does: the file then goes only if the socket is gone.
  void SetBound() { is_bound_ = true; }

 private:
  SocketLock(std::string socket_path, int descriptor);

  const std::string socket_path_;
  const int descriptor_;
  bool is_bound_ = false;
};

}  // namespace actord::daemon
