// The directories below which files may be opened, and no others: neither by
// "..", nor by links that lead out.
//
// Thread-safety: constant once open; OpenFile may be called on any thread.
// Ownership: holds the directories open, so that one that is renamed later is
// still the one that was allowed.
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
  // It is not closed any more.
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

class AllowedDirectories {
 public:
  // INVALID_ARGUMENT: a path is not absolute, or no directory that can be
  // opened.
  static absl::StatusOr<AllowedDirectories> Open(
      const std::vector<std::string>& paths);

  // Opens an existing file for reading; never waits for a FIFO's other end.
  // `path` must be absolute and spell one of the allowed directories as it was
  // given. PERMISSION_DENIED: not below one of them, or not readable.
  // NOT_FOUND: there is none.
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
