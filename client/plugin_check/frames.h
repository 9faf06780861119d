// Frames between this program and its child process, over a socket pair.
//
// Thread-safety: one thread at a time. Ownership: owns the descriptor.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/calls/cancellation.h"

namespace actord::client {

enum class FrameKind : char {
  kMessage = 'm',  // a message of messages.h
  kCrash = 'c',    // text: the code that ran when the child crashed
};

struct Frame {
  FrameKind kind = FrameKind::kMessage;
  std::string bytes = {};
};

// A frame is a header and then its bytes.
struct FrameHeader {
  uint32_t bytes;
  FrameKind kind;
};

class FrameSocket {
 public:
  explicit FrameSocket(int fd) : fd_(fd) {}
  ~FrameSocket();
  FrameSocket(FrameSocket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), read_(std::move(other.read_)) {}
  FrameSocket& operator=(FrameSocket&&) = delete;

  [[nodiscard]] int fd() const { return fd_; }

  // Waits until the socket has room. UNAVAILABLE: the other side has ended.
  absl::Status Send(FrameKind kind, std::string_view bytes);
  // Waits for the next frame. UNAVAILABLE: the other side has ended.
  // DEADLINE_EXCEEDED. CANCELLED. `cancellation`: may be null.
  absl::StatusOr<Frame> Receive(absl::Time deadline,
                                const Cancellation* cancellation);

 private:
  // True: a whole frame is in `read_`.
  [[nodiscard]] bool HasFrame() const;
  absl::Status AwaitBytes(absl::Time deadline,
                          const Cancellation* cancellation) const;

  int fd_;
  // The bytes from `taken_` on were read, but Receive has not returned them.
  std::string read_;
  size_t taken_ = 0;
};

}  // namespace actord::client
