#include "daemon/listening/listener.h"

#include <grp.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/listening/peer_address.h"
#include "daemon/settings/config_text.h"

namespace actord::daemon {
namespace {

// A connection whose client acknowledges nothing for this time has ended. The
// same as gRPC's timeout for keep-alive pings (rpc_server.cc), which gRPC sets
// for its own sockets.
constexpr unsigned kUserTimeoutMs = 20'000;
// Port 0: the system picks a port for the first address of a name. If the port
// is taken at another address, it picks again.
constexpr int kMaxPortTries = 20;

absl::Status Refused(int error) {
  return absl::UnavailableError(std::strerror(error));
}

bool Set(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

// Sets the options that the accepted sockets inherit.
void SetTcpOptions(int fd) {
  Set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  Set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
}

constexpr uid_t kNoUser = static_cast<uid_t>(-1);
constexpr gid_t kNoGroup = static_cast<gid_t>(-1);

// The number of a group; kNoGroup: the name is empty.
absl::StatusOr<gid_t> GroupNumber(const std::string& name) {
  if (name.empty()) return kNoGroup;
  if (name.find_first_not_of("0123456789") == std::string::npos) {
    return static_cast<gid_t>(std::strtoul(name.c_str(), nullptr, 10));
  }
  constexpr size_t kRecordBytes = 1 << 16;
  std::vector<char> record(kRecordBytes);
  group found{};
  group* result = nullptr;
  getgrnam_r(name.c_str(), &found, record.data(), record.size(), &result);
  if (result == nullptr) {
    return absl::UnavailableError(absl::StrCat("there is no group ", name));
  }
  return result->gr_gid;
}

// Returns the listening TCP socket, or the negative errno.
int OpenSocket(const sockaddr* address, socklen_t length, bool is_dual) {
  const int fd =
      socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  SetTcpOptions(fd);
  const bool fits = address->sa_family != AF_INET6 ||
                    Set(fd, IPPROTO_IPV6, IPV6_V6ONLY, is_dual ? 0 : 1);
  if (fits && bind(fd, address, length) == 0 && listen(fd, SOMAXCONN) == 0) {
    return fd;
  }
  const int error = errno;
  close(fd);
  return -error;
}

int PortOf(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return 0;
  }
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

// Returns whether an earlier entry of the list has the same address: a name may
// stand twice in /etc/hosts.
bool IsRepeated(const addrinfo* list, const addrinfo& entry) {
  for (; list != &entry; list = list->ai_next) {
    if (list->ai_addrlen == entry.ai_addrlen &&
        std::memcmp(list->ai_addr, entry.ai_addr, entry.ai_addrlen) == 0) {
      return true;
    }
  }
  return false;
}

// Binds the entry with this port; returns the socket or the negative errno.
int OpenEntry(const addrinfo& entry, int port) {
  if (IsWildcard(entry.ai_addr)) {
    // As gRPC does: a wildcard of either family accepts both families, if the
    // system has IPv6.
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(static_cast<uint16_t>(port));
    const int fd = OpenSocket(reinterpret_cast<const sockaddr*>(&any),
                              sizeof any, /*is_dual=*/true);
    if (fd != -EAFNOSUPPORT && fd != -EADDRNOTAVAIL) return fd;
  }
  sockaddr_storage address{};
  std::memcpy(&address, entry.ai_addr, entry.ai_addrlen);
  const uint16_t network_port = htons(static_cast<uint16_t>(port));
  if (address.ss_family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(address).sin_port = network_port;
  } else {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = network_port;
  }
  return OpenSocket(reinterpret_cast<const sockaddr*>(&address),
                    entry.ai_addrlen, /*is_dual=*/false);
}

}  // namespace

std::string WithPort(const std::string& address, int port) {
  return absl::StrCat(address.substr(0, address.rfind(':')), ":", port);
}

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(
    const std::string& address, const UnixAccess& access) {
  const auto parsed = ParseListenAddress(address);
  if (!parsed.ok()) return parsed.status();
  std::unique_ptr<Listener> listener(new Listener);
  absl::Status status = parsed->is_unix
                            ? listener->OpenUnix(parsed->path, access)
                            : listener->OpenTcp(parsed->host, parsed->port);
  if (!status.ok()) return status;
  return listener;
}

std::unique_ptr<Listener> Listener::Adopt(int fd) {
  std::unique_ptr<Listener> listener(new Listener);
  listener->sockets_.push_back(fd);
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  if (address.ss_family == AF_UNIX) {
    const auto& named = reinterpret_cast<const sockaddr_un&>(address);
    listener->adopted_address_ = std::string("unix:") + named.sun_path;
    return listener;
  }
  // The accepted sockets inherit them.
  SetTcpOptions(fd);
  listener->port_ = PortOf(fd);
  listener->adopted_address_ = SocketAddressText(address);
  return listener;
}

absl::Status Listener::OpenUnix(const std::string& path,
                                const UnixAccess& access) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return Refused(ENAMETOOLONG);
  path.copy(address.sun_path, path.size());
  const auto group = GroupNumber(access.group);
  if (!group.ok()) return group.status();
  struct stat file {};
  if (lstat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode)) {
    unlink(path.c_str());
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Refused(errno);
  sockets_.push_back(fd);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
      0) {
    return Refused(errno);
  }
  if (lstat(path.c_str(), &file) == 0) {
    path_ = path;
    device_ = file.st_dev;
    inode_ = file.st_ino;
  }
  // Before anybody can connect.
  constexpr int kOctal = 8;
  if (*group != kNoGroup && chown(path.c_str(), kNoUser, *group) != 0) {
    return Refused(errno);
  }
  if (!access.mode.empty() &&
      chmod(path.c_str(), static_cast<mode_t>(std::strtoul(
                              access.mode.c_str(), nullptr, kOctal))) != 0) {
    return Refused(errno);
  }
  return listen(fd, SOMAXCONN) == 0 ? absl::OkStatus() : Refused(errno);
}

absl::Status Listener::OpenTcp(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return absl::UnavailableError(gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found,
                                                                 freeaddrinfo);
  for (int tries = 0;; ++tries) {
    int refused = 0;
    port_ = port;
    for (const addrinfo* entry = found; entry != nullptr && refused == 0;
         entry = entry->ai_next) {
      if (IsRepeated(found, *entry)) continue;
      const int fd = OpenEntry(*entry, port_);
      if (fd < 0) {
        refused = -fd;
      } else {
        sockets_.push_back(fd);
        if (port_ == 0) port_ = PortOf(fd);
      }
    }
    if (refused == 0) return absl::OkStatus();
    const bool is_first = sockets_.empty();
    Close();
    if (port != 0 || is_first || refused != EADDRINUSE ||
        tries == kMaxPortTries) {
      return Refused(refused);
    }
  }
}

void Listener::Close() {
  for (const int fd : sockets_) close(fd);
  sockets_.clear();
}

Listener::~Listener() {
  struct stat file {};
  // Before the socket is closed: a successor waits for the lock of the path.
  if (!path_.empty() && lstat(path_.c_str(), &file) == 0 &&
      file.st_dev == device_ && file.st_ino == inode_) {
    unlink(path_.c_str());
  }
  Close();
}

}  // namespace actord::daemon
