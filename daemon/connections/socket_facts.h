// Asks the kernel about a socket, and ends a socket that another part owns.
//
// Thread-safety: any thread. A descriptor may be closed and used again for
// another file at any time, because gRPC owns it: compare cookies.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace actord::daemon {

// The kernel's unique number of this socket; 0: `fd` is not a socket.
uint64_t SocketCookie(int fd);

// The program at the other end of a Unix socket, as it was when it connected.
struct PeerCredentials {
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t pid = 0;
};
std::optional<PeerCredentials> ReadCredentials(int fd);
// Whether that program runs as root or as the daemon's own user.
bool IsLocalUser(const PeerCredentials& peer);

// The bytes that a TCP connection has carried.
struct Traffic {
  // Bytes that have arrived.
  uint64_t received_bytes = 0;
  // Bytes that have arrived and that gRPC has read. Bytes that arrive during
  // the call count as unread.
  uint64_t read_bytes = 0;
  uint64_t sent_bytes = 0;
};
// nullopt: `fd` is not a TCP connection, or the kernel does not count (before
// 4.19).
std::optional<Traffic> ReadTraffic(int fd);

// The number of bytes that have arrived and that gRPC has not read; 0 also if
// the kernel does not know.
uint64_t CountUnread(int fd);

// The first bytes that have arrived and that gRPC has not read, `max` at most
// and as many as `buffer` holds. They stay in the socket.
std::string_view PeekBytes(int fd, size_t max, std::vector<char>& buffer);

// How a connection is cut. In both cases the bytes are dropped that have
// arrived and that gRPC has not read.
enum class Cut {
  // The client receives the bytes that are already written, and then the end.
  kEnd,
  // The client receives a reset at once. A Unix socket is ended.
  kReset,
};
// Bounds the bytes that a connection of this TCP listener may have on their way
// to kFirstWindowBytes, until WidenWindow. gRPC parses all bytes that it has
// read before it does anything else, so a smaller piece of a flood holds up
// others for a shorter time. Has no effect on other sockets.
inline constexpr int kFirstWindowBytes = 8 << 10;
void NarrowWindow(int listener);
// Leaves the bound to the kernel, as without NarrowWindow. Does nothing if `fd`
// is not the socket with this cookie.
void WidenWindow(int fd, uint64_t cookie);

// Does nothing if `fd` is not the socket with this cookie. Returns whether the
// connection was cut; false also if there is no descriptor left.
bool CutSocket(int fd, uint64_t cookie, Cut how);

}  // namespace actord::daemon
