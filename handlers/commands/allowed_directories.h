// Opens files below the allowed directories and no other files: neither "..",
// nor a link that leads out of them, helps.
//
// Thread-safety: constant once open; OpenFile may be called on any thread.
// Ownership: holds the directories open, so that a directory that is renamed
// later stays allowed.
#pragma once

#include <actord/values.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace actord::handlers {

// Owns a file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd();

  [[nodiscard]] int get() const { return fd_; }
  // Releases the descriptor: it will not be closed.
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

class AllowedDirectories {
 public:
  // INVALID_ARGUMENT: a path is not absolute, or is not a directory that can be
  // opened.
  static absl::StatusOr<AllowedDirectories> Open(
      const std::vector<std::string>& paths);

  // Opens an existing file for reading; never waits for a FIFO's other end.
  // `path` must be absolute and begin with an allowed directory, spelled as it
  // was given. PERMISSION_DENIED: the file is not below an allowed directory,
  // or is not readable. NOT_FOUND: there is no such file.
  Status OpenFile(std::string_view path, UniqueFd& file) const;

 private:
  struct Directory {
    std::vector<std::string> components;
    UniqueFd fd;
  };

  AllowedDirectories() = default;

  std::vector<Directory> directories_;
};

}  // namespace actord::handlers
