// A file descriptor that is closed with its owner.
//
// Thread-safety: one thread at a time.
#pragma once

#include <unistd.h>

#include <utility>

namespace actord::identity {

class Descriptor {
 public:
  // Takes ownership; -1: there is none.
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

}  // namespace actord::identity
