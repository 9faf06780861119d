#include "daemon/listening/listen_check.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "daemon/settings/config_text.h"

namespace actord::daemon {
namespace {

// The reason why a socket of this family cannot be bound; "" if it can.
std::string TryToBind(int family, const sockaddr* address, socklen_t length) {
  const int socket_fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_fd < 0) return std::strerror(errno);
  // As the daemon listens: an address in TIME_WAIT can be bound.
  const int on = 1;
  setsockopt(socket_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  std::string reason;
  if (bind(socket_fd, address, length) != 0 || listen(socket_fd, 1) != 0) {
    reason = std::strerror(errno);
  }
  close(socket_fd);
  return reason;
}

// Why an existing socket must not be replaced; "" if nobody serves on it.
std::string WhyInUse(const sockaddr_un& address) {
  const int socket_fd =
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_fd < 0) return std::strerror(errno);
  const bool connected =
      connect(socket_fd, reinterpret_cast<const sockaddr*>(&address),
              sizeof address) == 0;
  const int error = connected ? 0 : errno;
  close(socket_fd);
  if (error == ECONNREFUSED) return "";
  // EAGAIN: the server does not accept at the moment.
  return std::strerror(error == 0 || error == EAGAIN ? EADDRINUSE : error);
}

std::string TryUnix(const std::string& path) {
  const std::string unfit = WhyNoSocketPath(path);
  if (!unfit.empty()) return unfit;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  struct stat status {};
  // The daemon replaces an existing socket. That is right for a stale socket,
  // but would take the socket from a live server.
  if (lstat(path.c_str(), &status) == 0) return WhyInUse(address);
  std::string reason = TryToBind(
      AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (reason.empty()) unlink(path.c_str());
  return reason;
}

std::string TryTcp(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(),
                  &hints, &found);
  if (error != 0) return gai_strerror(error);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found,
                                                                 freeaddrinfo);
  for (const addrinfo* entry = found; entry != nullptr;
       entry = entry->ai_next) {
    std::string reason =
        TryToBind(entry->ai_family, entry->ai_addr, entry->ai_addrlen);
    if (!reason.empty()) return reason;
  }
  return "";
}

}  // namespace

std::string WhyNoSocketPath(const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return "its path is too long";
  }
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode)) {
    return "a file that is no socket is there: remove it, or choose another "
           "path";
  }
  return "";
}

std::string WhyNotListening(const std::string& address) {
  const auto parsed = ParseListenAddress(address);
  if (!parsed.ok()) return std::string(parsed.status().message());
  return parsed->is_unix ? TryUnix(parsed->path) : TryTcp(*parsed);
}

}  // namespace actord::daemon
