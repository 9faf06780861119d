#include "daemon/socket_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/files/lock_holder.h"

namespace actord::daemon {
namespace {

// Owner only, so that no other user can take the lock and block a start.
constexpr mode_t kLockMode = 0600;
// Maximum number of files that may be removed between opening and locking them,
// one after the other. Each belonged to another daemon that ended.
constexpr int kMaxTries = 1000;

std::string LockPath(const std::string& socket_path) {
  return socket_path + ".lock";
}

absl::Status CannotLock(const std::string& path, int error) {
  return absl::UnavailableError(
      absl::StrCat("cannot lock ", path, ": ", std::strerror(error)));
}

// Returns true if the open file is the file at `path`.
bool IsAt(const std::string& path, int descriptor) {
  struct stat own {};
  struct stat there {};
  return fstat(descriptor, &own) == 0 && lstat(path.c_str(), &there) == 0 &&
         own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SocketLock>> SocketLock::Take(
    const std::string& socket_path) {
  const std::string path = LockPath(socket_path);
  for (int i = 0; i < kMaxTries; ++i) {
    // Non-blocking: opening a pipe of that name must not wait for a writer.
    const int descriptor =
        open(path.c_str(),
             O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kLockMode);
    if (descriptor < 0) return CannotLock(path, errno);
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      const std::string holder = runtime::LockHolder(descriptor);
      close(descriptor);
      if (error != EWOULDBLOCK) return CannotLock(path, error);
      return absl::UnavailableError(
          absl::StrCat("another daemon serves there, or is about to: it holds ",
                       path, holder));
    }
    if (IsAt(path, descriptor)) {
      return std::unique_ptr<SocketLock>(
          new SocketLock(socket_path, descriptor));
    }
    close(descriptor);
  }
  return CannotLock(path, EBUSY);
}

SocketLock::SocketLock(std::string socket_path, int descriptor)
    : socket_path_(std::move(socket_path)), descriptor_(descriptor) {}

SocketLock::~SocketLock() {
  struct stat socket {};
  const bool is_gone =
      lstat(socket_path_.c_str(), &socket) != 0 && errno == ENOENT;
  const std::string path = LockPath(socket_path_);
  if ((!is_bound_ || is_gone) && IsAt(path, descriptor_)) unlink(path.c_str());
  close(descriptor_);
}

}  // namespace actord::daemon
