#include "daemon/listening/peer_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace actord::daemon {
namespace {

constexpr size_t kNetworkBytes = 8;  // of an IPv6 address: the /64

sockaddr_in V4Of(const sockaddr_storage& address) {
  sockaddr_in v4{};
  std::memcpy(&v4, &address, sizeof v4);
  return v4;
}

sockaddr_in6 V6Of(const sockaddr_storage& address) {
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  return v6;
}

// Turns ::ffff:192.0.2.1 into 192.0.2.1, and leaves other addresses alone.
sockaddr_storage Unmapped(const sockaddr_storage& address) {
  if (address.ss_family != AF_INET6) return address;
  const sockaddr_in6 v6 = V6Of(address);
  if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return address;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = v6.sin6_port;
  std::memcpy(&v4.sin_addr, &v6.sin6_addr.s6_addr[12], sizeof v4.sin_addr);
  sockaddr_storage plain{};
  std::memcpy(&plain, &v4, sizeof v4);
  return plain;
}

std::string Text(int family, const void* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(family, address, text.data(), text.size());
  return text.data();
}

}  // namespace

std::string PeerName(const sockaddr_storage& address) {
  const sockaddr_storage plain = Unmapped(address);
  if (plain.ss_family == AF_INET) {
    const sockaddr_in v4 = V4Of(plain);
    return absl::StrCat("ipv4:", Text(AF_INET, &v4.sin_addr), ":",
                        ntohs(v4.sin_port));
  }
  if (plain.ss_family != AF_INET6) return "unix:";
  const sockaddr_in6 v6 = V6Of(plain);
  const std::string scope =
      v6.sin6_scope_id == 0 ? "" : absl::StrCat("%", v6.sin6_scope_id);
  return absl::StrCat(
      "ipv6:",
      absl::StrReplaceAll(absl::StrCat("[", Text(AF_INET6, &v6.sin6_addr),
                                       scope, "]:", ntohs(v6.sin6_port)),
                          {{"%", "%25"}, {"[", "%5B"}, {"]", "%5D"}}));
}

std::string SocketAddressText(const sockaddr_storage& address) {
  const sockaddr_storage plain = Unmapped(address);
  if (plain.ss_family == AF_INET) {
    const sockaddr_in v4 = V4Of(plain);
    return absl::StrCat(Text(AF_INET, &v4.sin_addr), ":", ntohs(v4.sin_port));
  }
  const sockaddr_in6 v6 = V6Of(plain);
  return absl::StrCat("[", Text(AF_INET6, &v6.sin6_addr),
                      "]:", ntohs(v6.sin6_port));
}

std::string AddressGroup(const sockaddr_storage& address) {
  const sockaddr_storage plain = Unmapped(address);
  if (plain.ss_family == AF_INET) {
    const sockaddr_in v4 = V4Of(plain);
    return Text(AF_INET, &v4.sin_addr);
  }
  if (plain.ss_family != AF_INET6) return "";
  sockaddr_in6 v6 = V6Of(plain);
  std::fill(std::begin(v6.sin6_addr.s6_addr) + kNetworkBytes,
            std::end(v6.sin6_addr.s6_addr), 0);
  return absl::StrCat(Text(AF_INET6, &v6.sin6_addr), "/64");
}

bool IsWildcard(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return v4.sin_addr.s_addr == htonl(INADDR_ANY);
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof v6);
  return IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr);
}

}  // namespace actord::daemon
