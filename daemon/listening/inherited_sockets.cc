#include "daemon/listening/inherited_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

constexpr int kFirst = 3;
constexpr int kMaxSockets = 1000;

// The number of a variable; -1: it is not set, or is not a number.
int NumberOf(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return -1;
  const std::string_view digits(text);
  int number = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

int OptionOf(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

bool Listens(int fd) {
  const int family = OptionOf(fd, SO_DOMAIN);
  return OptionOf(fd, SO_TYPE) == SOCK_STREAM &&
         OptionOf(fd, SO_ACCEPTCONN) == 1 &&
         (family == AF_INET || family == AF_INET6 || family == AF_UNIX);
}

}  // namespace

absl::StatusOr<std::vector<int>> TakeInheritedSockets() {
  const bool is_meant = NumberOf("LISTEN_PID") == getpid();
  const int count = is_meant ? NumberOf("LISTEN_FDS") : 0;
  for (const char* variable : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) {
    unsetenv(variable);
  }
  if (count > kMaxSockets) {
    return absl::InvalidArgumentError(
        absl::StrCat("LISTEN_FDS: at most ", kMaxSockets, " sockets"));
  }
  std::vector<int> sockets;
  for (int fd = kFirst; fd < kFirst + count; ++fd) {
    if (!Listens(fd) || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "LISTEN_FDS: descriptor ", fd,
          " is no listening stream socket (ListenStream= in systemd)"));
    }
    sockets.push_back(fd);
  }
  return sockets;
}

}  // namespace actord::daemon
