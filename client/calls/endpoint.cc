#include "client/calls/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace actord::client {
namespace {

constexpr uint32_t kLoopbackNet = 127;
constexpr unsigned kHostBits = 24;

// The host of "host:port" or "[ipv6]:port".
std::string HostOf(const std::string& address) {
  if (address.starts_with('[')) {
    return address.substr(1, address.find(']') - 1);
  }
  return address.substr(0, address.rfind(':'));
}

bool StaysOnThisMachine(const std::string& address) {
  if (address.starts_with("unix:") || address.starts_with("unix-abstract:")) {
    return true;
  }
  const std::string host = HostOf(address);
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> kHostBits == kLoopbackNet;
  }
  in6_addr v6{};
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&v6);
  }
  return absl::AsciiStrToLower(host) == "localhost";
}

}  // namespace

absl::Status CheckEndpoint(const Endpoint& endpoint) {
  if (endpoint.token.empty() || endpoint.has_tls() ||
      StaysOnThisMachine(endpoint.address)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the token is not sent to ", endpoint.address,
      ": the connection is plain text, so that others on the network could "
      "read the token. Use TLS, a Unix socket, or a tunnel that ends at "
      "127.0.0.1"));
}

}  // namespace actord::client
