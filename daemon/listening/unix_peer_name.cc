#include "daemon/listening/unix_peer_name.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace actord::daemon {
namespace {

// Writes the address of connection `id`, as much of it as fits, as getpeername
// does.
void WriteName(uint64_t id, sockaddr* address, socklen_t* length) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  // One byte stays for the zero at the end.
  std::to_chars(std::begin(name.sun_path), std::end(name.sun_path) - 1, id);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                           std::strlen(name.sun_path) + 1);
  std::memcpy(address, &name, std::min(*length, size));
  *length = size;
}

}  // namespace

std::string UnixPeerName(uint64_t id) { return absl::StrCat("unix:", id); }

}  // namespace actord::daemon

// Takes the place of the C library's function for the whole program, gRPC's
// library included.
extern "C" int getpeername(int fd, sockaddr* __restrict address,
                           socklen_t* __restrict length) noexcept {
  using actord::daemon::UnixPeerScope;
  const socklen_t capacity = *length;
  const auto result =
      static_cast<int>(syscall(SYS_getpeername, fd, address, length));
  if (result != 0 || UnixPeerScope::Here() == 0 ||
      address->sa_family != AF_UNIX) {
    return result;
  }
  *length = capacity;
  actord::daemon::WriteName(UnixPeerScope::Here(), address, length);
  return 0;
}
