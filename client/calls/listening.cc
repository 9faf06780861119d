#include "client/calls/listening.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace actord::client {
namespace {

constexpr std::string_view kUnix = "unix:";

// 0: connected. Otherwise the error.
int Connect(const sockaddr* address, socklen_t length,
            absl::Duration patience) {
  const int fd =
      socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  int error = connect(fd, address, length) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd connected{.fd = fd, .events = POLLOUT, .revents = 0};
    const int ready = poll(
        &connected, 1, static_cast<int>(absl::ToInt64Milliseconds(patience)));
    socklen_t size = sizeof error;
    if (ready <= 0) {
      error = ETIMEDOUT;
    } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
      error = errno;
    }
  }
  close(fd);
  return error;
}

absl::Status Unknown(const std::string& address, const char* why) {
  return absl::UnavailableError(absl::StrCat(address, ": ", why));
}

absl::StatusOr<bool> IsListeningUnix(const std::string& address,
                                     absl::Duration patience) {
  std::string_view path = std::string_view(address).substr(kUnix.size());
  if (path.starts_with("//")) path.remove_prefix(2);
  sockaddr_un named{};
  named.sun_family = AF_UNIX;
  if (path.size() >= sizeof named.sun_path) {
    return Unknown(address, std::strerror(ENAMETOOLONG));
  }
  std::copy(path.begin(), path.end(), named.sun_path);
  const int error = Connect(reinterpret_cast<const sockaddr*>(&named),
                            sizeof named, patience);
  // EAGAIN: the queue of connections that wait is full.
  if (error == 0 || error == EAGAIN) return true;
  if (error == ECONNREFUSED || error == ENOENT) return false;
  return Unknown(address, std::strerror(error));
}

}  // namespace

absl::StatusOr<bool> IsListening(const std::string& address,
                                 absl::Duration patience) {
  if (address.starts_with(kUnix)) return IsListeningUnix(address, patience);
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return Unknown(address, "it has no port");
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(
      host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (failed != 0) return Unknown(address, gai_strerror(failed));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
  int unknown = 0;
  int not_here = 0;  // an address of the host that this machine cannot reach
  bool is_refused = false;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    const int error = Connect(one->ai_addr, one->ai_addrlen, patience);
    if (error == 0) return true;
    if (error == ECONNREFUSED) {
      is_refused = true;
    } else if (error == EADDRNOTAVAIL || error == EAFNOSUPPORT ||
               error == ENETUNREACH) {
      not_here = error;
    } else {
      unknown = error;
    }
  }
  if (unknown == 0 && !is_refused) unknown = not_here;
  if (unknown != 0) return Unknown(address, std::strerror(unknown));
  return false;
}

}  // namespace actord::client
