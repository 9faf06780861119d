#include "daemon/listening/open_listening.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/listening/peer_address.h"
#include "daemon/settings/config_text.h"

namespace actord::daemon {
namespace {

bool IsLoopbackV4(uint32_t address) {
  constexpr int kNetworkShift = 24;
  constexpr uint32_t kLoopbackNetwork = 127;
  return ntohl(address) >> kNetworkShift == kLoopbackNetwork;
}

bool IsLocal(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    return IsLoopbackV4(v4.sin_addr.s_addr);
  }
  if (address->sa_family != AF_INET6) return address->sa_family == AF_UNIX;
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof v6);
  if (IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr)) return true;
  if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return false;
  constexpr size_t kMappedOffset = 12;
  uint32_t mapped = 0;
  std::memcpy(&mapped, v6.sin6_addr.s6_addr + kMappedOffset, sizeof mapped);
  return IsLoopbackV4(mapped);
}

// Whether one of the addresses of the host has the property.
bool AnyAddress(const std::string& host, bool (*has)(const sockaddr*)) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found,
                                                                 freeaddrinfo);
  for (const addrinfo* entry = found; entry != nullptr;
       entry = entry->ai_next) {
    if (has(entry->ai_addr)) return true;
  }
  return false;
}

std::vector<std::string> OpenOnesOf(const std::vector<std::string>& listen) {
  std::vector<std::string> open;
  for (const std::string& text : listen) {
    const auto address = ParseListenAddress(text);
    if (!address.ok() || address->is_unix) continue;
    const auto is_open = [](const sockaddr* of) { return !IsLocal(of); };
    if (AnyAddress(address->host, is_open)) open.push_back(text);
  }
  return open;
}

// Without an address that a browser can reach, no link would work.
absl::Status CheckLinks(const Config& config) {
  if (config.admin_link_key.empty()) return absl::OkStatus();
  if (!config.admin_api || config.admin_listen.empty()) {
    return absl::InvalidArgumentError(
        "admin.link_key: links lead to the admin port: set admin.listen and "
        "admin.api, too");
  }
  const bool can_be_visited = std::any_of(
      config.admin_listen.begin(), config.admin_listen.end(), CanBeVisited);
  if (can_be_visited || !config.admin_link_url.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "admin.link_key: browsers reach neither a Unix socket nor an address "
      "such "
      "as 0.0.0.0: set admin.link_url to the address that people use, for "
      "example that of your proxy");
}

// The other settings of the admin port have no effect without one.
absl::Status CheckAdminPort(const Config& config) {
  if (!config.admin_port_file.empty() &&
      config.admin_port_file == config.port_file) {
    return absl::InvalidArgumentError(
        absl::StrCat("admin.port_file: ", config.port_file,
                     " is also server.port_file: "
                     "give each a file of its own"));
  }
  if (!config.admin_listen.empty()) return absl::OkStatus();
  std::string key;
  if (config.admin_api) {
    key = "admin.api";
  } else if (!config.admin_port_file.empty()) {
    key = "admin.port_file";
  } else if (!config.admin_hosts.empty()) {
    key = "admin.hosts";
  } else if (!config.admin_link_url.empty()) {
    key = "admin.link_url";
  } else {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      key,
      ": there is no admin port: set admin.listen, too, for example to "
      "127.0.0.1:7601"));
}

}  // namespace

bool CanBeVisited(const std::string& text) {
  const auto address = ParseListenAddress(text);
  return address.ok() && !address->is_unix &&
         !AnyAddress(address->host, IsWildcard);
}

std::vector<std::string> OpenAdminAddresses(const Config& config) {
  return OpenOnesOf(config.admin_listen);
}

std::vector<std::string> OpenAddresses(const Config& config) {
  std::vector<std::string> open = OpenOnesOf(config.listen);
  for (const int fd : config.inherited_sockets) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
        IsLocal(reinterpret_cast<const sockaddr*>(&address))) {
      continue;
    }
    open.push_back(SocketAddressText(address));
  }
  return open;
}

absl::Status CheckOpenListening(const Config& config) {
  absl::Status links = CheckLinks(config);
  if (!links.ok()) return links;
  absl::Status port = CheckAdminPort(config);
  if (!port.ok()) return port;
  if (config.admin_api && !config.tls.client_ca.empty()) {
    for (const std::string& text : config.admin_listen) {
      const auto address = ParseListenAddress(text);
      if (!address.ok() || address->is_unix) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "admin.api: tls.client_ca demands a certificate of each client, and "
          "clients of ",
          text,
          " cannot present one, because the admin port has no TLS: listen on a "
          "Unix socket alone, or set admin.api = false"));
    }
  }
  const std::vector<std::string> admin = OpenAdminAddresses(config);
  if (!config.admin_insecure_listen && !admin.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "admin.listen: other machines reach ", absl::StrJoin(admin, ", "),
        ", and the admin port has no TLS: listen on 127.0.0.1, [::1] or a Unix "
        "socket, or accept that everybody who reaches the address can read the "
        "metrics",
        config.admin_api ? ", and that tokens travel in clear text," : "",
        " with --admin-insecure-listen"));
  }
  if (config.insecure_listen || !config.tls.certificate.empty()) {
    return absl::OkStatus();
  }
  const std::vector<std::string> open = OpenAddresses(config);
  if (open.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "server.listen: other machines reach ", absl::StrJoin(open, ", "),
      ", and there is no TLS: set tls.certificate and tls.key, or listen on "
      "127.0.0.1, [::1] or a Unix socket, or accept that everybody who reaches "
      "the address can do everything with --insecure-listen"));
}

}  // namespace actord::daemon
