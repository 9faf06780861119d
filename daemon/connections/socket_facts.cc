#include "daemon/connections/socket_facts.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

namespace actord::daemon {
namespace {

// Drops at most this much, because a client may send as fast as the loop reads.
constexpr int kMaxDrains = 64;
constexpr size_t kDrainBytes = 1 << 24;
constexpr size_t kCopyBytes = 1 << 14;

void Drain(int fd) {
  for (int i = 0; i < kMaxDrains; ++i) {
    // With MSG_TRUNC the kernel drops the bytes of TCP and copies nothing.
    const ssize_t dropped =
        recv(fd, nullptr, kDrainBytes, MSG_TRUNC | MSG_DONTWAIT);
    if (dropped > 0) continue;
    // A Unix socket copies its bytes.
    std::array<char, kCopyBytes> bytes;
    if (dropped == 0 || errno != EFAULT ||
        recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT) <= 0) {
      return;
    }
  }
}

// Sends a reset, and drops the queued bytes in both directions. gRPC then reads
// an error from the socket. False: `fd` is not a TCP connection.
bool Disconnect(int fd) {
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &type, &size) == 0 &&
         type == IPPROTO_TCP && connect(fd, &nobody, sizeof nobody) == 0;
}

}  // namespace

uint64_t SocketCookie(int fd) {
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) != 0) return 0;
  return cookie;
}

std::optional<PeerCredentials> ReadCredentials(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return std::nullopt;
  }
  return PeerCredentials{.uid = peer.uid, .gid = peer.gid, .pid = peer.pid};
}

bool IsLocalUser(const PeerCredentials& peer) {
  // The kernel's name for users that the daemon's user namespace does not have
  // ("nobody"). They must not be taken for the daemon's own user, if the daemon
  // runs as "nobody".
  constexpr uid_t kOverflowUid = 65534;
  return peer.uid == 0 || (peer.uid == geteuid() && peer.uid != kOverflowUid);
}

std::optional<Traffic> ReadTraffic(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      size < offsetof(tcp_info, tcpi_bytes_sent) + sizeof(uint64_t)) {
    return std::nullopt;
  }
  int unread = 0;
  if (ioctl(fd, FIONREAD, &unread) != 0) return std::nullopt;
  const uint64_t received = info.tcpi_bytes_received;
  return Traffic{
      .received_bytes = received,
      .read_bytes =
          received - std::min(received, static_cast<uint64_t>(unread)),
      .sent_bytes = info.tcpi_bytes_sent};
}

uint64_t CountUnread(int fd) {
  int unread = 0;
  return ioctl(fd, FIONREAD, &unread) == 0 && unread > 0
             ? static_cast<uint64_t>(unread)
             : 0;
}

std::string_view PeekBytes(int fd, size_t max, std::vector<char>& buffer) {
  const ssize_t size = recv(fd, buffer.data(), std::min(max, buffer.size()),
                            MSG_PEEK | MSG_DONTWAIT);
  return {buffer.data(), size > 0 ? static_cast<size_t>(size) : 0};
}

void NarrowWindow(int listener) {
  // A connection takes the bound over from its listener, also for the window
  // that it announces first.
  setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &kFirstWindowBytes,
             sizeof kFirstWindowBytes);
}

void WidenWindow(int fd, uint64_t cookie) {
  // Lets the kernel adapt the size again, since Linux 5.14.
  constexpr int kIsLocked = 72;  // SO_BUF_LOCK, which older headers lack
  constexpr int kNot = 0;
  constexpr int kLarge = 1 << 20;
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return;
  if (SocketCookie(own) == cookie &&
      setsockopt(own, SOL_SOCKET, kIsLocked, &kNot, sizeof kNot) != 0) {
    setsockopt(own, SOL_SOCKET, SO_RCVBUF, &kLarge, sizeof kLarge);
  }
  close(own);
}

bool CutSocket(int fd, uint64_t cookie, Cut how) {
  // The duplicate keeps the socket while it is compared and cut.
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return false;
  const bool is_it = SocketCookie(own) == cookie;
  if (is_it && (how == Cut::kEnd || !Disconnect(own))) {
    shutdown(own, SHUT_RDWR);
    Drain(own);
  }
  close(own);
  return is_it;
}

}  // namespace actord::daemon
