#include "client/plugin_check/frames.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "absl/time/clock.h"

namespace actord::client {
namespace {

absl::Status EndOfPeer() {
  return absl::UnavailableError("the child process has ended");
}

absl::Status SocketError(const char* call) {
  const int error = errno;
  if (error == EPIPE || error == ECONNRESET) return EndOfPeer();
  return absl::InternalError(std::string(call) + ": " +
                             std::generic_category().message(error));
}

FrameHeader HeaderAt(const std::string& bytes, size_t place) {
  FrameHeader header{};
  std::memcpy(&header, bytes.data() + place, sizeof header);
  return header;
}

}  // namespace

FrameSocket::~FrameSocket() {
  if (fd_ >= 0) close(fd_);
}

absl::Status FrameSocket::Send(FrameKind kind, std::string_view bytes) {
  FrameHeader header{};
  header.bytes = static_cast<uint32_t>(bytes.size());
  header.kind = kind;
  std::string whole(reinterpret_cast<const char*>(&header), sizeof header);
  whole.append(bytes);
  for (size_t sent = 0; sent < whole.size();) {
    const ssize_t count =
        send(fd_, whole.data() + sent, whole.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<size_t>(count);
    } else if (errno != EINTR) {
      return SocketError("send");
    }
  }
  return absl::OkStatus();
}

bool FrameSocket::HasFrame() const {
  const size_t left = read_.size() - taken_;
  return left >= sizeof(FrameHeader) &&
         left - sizeof(FrameHeader) >= HeaderAt(read_, taken_).bytes;
}

absl::Status FrameSocket::AwaitBytes(absl::Time deadline,
                                     const Cancellation* cancellation) const {
  for (;;) {
    // poll() ignores a descriptor of -1.
    std::array<pollfd, 2> waits = {
        {{.fd = fd_, .events = POLLIN, .revents = 0},
         {.fd = cancellation == nullptr ? -1 : cancellation->fd(),
          .events = POLLIN,
          .revents = 0}}};
    int patience_ms = -1;
    if (deadline != absl::InfiniteFuture()) {
      patience_ms = static_cast<int>(std::clamp<int64_t>(
          absl::ToInt64Milliseconds(deadline - absl::Now()) + 1, 0, 60'000));
    }
    const int ready = poll(waits.data(), waits.size(), patience_ms);
    if (ready < 0 && errno != EINTR) return SocketError("poll");
    if (waits[1].revents != 0) return absl::CancelledError("interrupted");
    if (ready > 0) return absl::OkStatus();
    if (absl::Now() >= deadline) {
      return absl::DeadlineExceededError("the time is over");
    }
  }
}

absl::StatusOr<Frame> FrameSocket::Receive(absl::Time deadline,
                                           const Cancellation* cancellation) {
  constexpr size_t kReadTogether = size_t{256} << 10;
  while (!HasFrame()) {
    read_.erase(0, std::exchange(taken_, 0));
    absl::Status status = AwaitBytes(deadline, cancellation);
    if (!status.ok()) return status;
    const size_t before = read_.size();
    read_.resize(before + kReadTogether);
    const ssize_t count = recv(fd_, read_.data() + before, kReadTogether, 0);
    read_.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return EndOfPeer();
    if (count < 0 && errno != EINTR) return SocketError("recv");
  }
  const FrameHeader header = HeaderAt(read_, taken_);
  Frame frame{.kind = header.kind,
              .bytes = read_.substr(taken_ + sizeof header, header.bytes)};
  taken_ += sizeof header + header.bytes;
  return frame;
}

}  // namespace actord::client
