#include "client/cli/address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "absl/strings/numbers.h"
#include "client/output/exit_status.h"
#include "client/output/text.h"

namespace actord::client {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr std::string_view kDefaultPort = "7600";

bool IsHost(std::string_view host) {
  return !host.empty() &&
         std::all_of(host.begin(), host.end(), [](unsigned char c) {
           return isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
         });
}

// True for an address with a zone, as in fe80::1%eth0, or without one.
bool IsIpv6(std::string_view host) {
  const size_t percent = host.find('%');
  if (percent != std::string_view::npos && !IsHost(host.substr(percent + 1))) {
    return false;
  }
  in6_addr address;
  return inet_pton(AF_INET6, std::string(host.substr(0, percent)).c_str(),
                   &address) == 1;
}

bool IsPort(std::string_view port) {
  uint32_t number = 0;
  const auto is_digit = [](unsigned char c) { return isdigit(c) != 0; };
  return port.size() <= 5 && std::all_of(port.begin(), port.end(), is_digit) &&
         absl::SimpleAtoi(std::string(port), &number) && number > 0 &&
         number <= UINT16_MAX;
}

// The mistake in the path of a Unix socket; "" if it is valid.
std::string WhyNoPath(std::string_view path) {
  if (path.empty()) return "it has no path behind unix:";
  // The kernel does not accept a longer path, and a byte 0 would cut the path.
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return "its path is longer than " +
           std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes";
  }
  return "";
}

// The mistake in HOST:PORT or [IPV6]:PORT; "" if it is valid.
std::string WhyNotTcp(std::string_view address) {
  const std::string port_example = ":" + std::string(kDefaultPort);
  if (const size_t scheme = address.find("://");
      scheme != std::string_view::npos) {
    return "it is a URL; leave out \"" +
           std::string(address.substr(0, scheme + 3)) + "\"";
  }
  if (IsIpv6(address)) {
    return "an IPv6 address needs brackets and a port, as in [::1]" +
           port_example;
  }
  const size_t bracket = address.starts_with('[') ? address.find(']') : 0;
  if (bracket == std::string_view::npos) return "a closing ] is missing";
  const size_t colon = address.find(':', bracket);
  const std::string_view host = address.substr(0, colon);
  if (address.starts_with('[')) {
    if (!IsIpv6(host.substr(1, bracket - 1)) || host.size() != bracket + 1) {
      return "\"" + std::string(host) + "\" is not an IPv6 address in brackets";
    }
  } else if (host.empty()) {
    return "the host is missing, as in 127.0.0.1" + std::string(address);
  } else if (!IsHost(host)) {
    return "\"" + std::string(host) + "\" is not a host name";
  }
  if (colon == std::string_view::npos) {
    return "the port is missing, as in " + std::string(address) + port_example;
  }
  const std::string_view port = address.substr(colon + 1);
  if (port.empty()) {
    return "the port is missing, as in " + std::string(host) + port_example;
  }
  if (!IsPort(port)) {
    return "\"" + std::string(port) + "\" is not a port from 1 to 65535";
  }
  return "";
}

// A host name, an IPv4 address, or an IPv6 address in brackets.
bool IsHostAlone(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) {
    return IsIpv6(text.substr(1, text.size() - 2));
  }
  return IsHost(text);
}

}  // namespace

std::string WithDefaultPort(const std::string& address) {
  return IsHostAlone(address) ? address + ":" + std::string(kDefaultPort)
                              : address;
}

absl::Status CheckAddress(const std::string& address) {
  const std::string_view text = address;
  const std::string why = text.starts_with(kUnix)
                              ? WhyNoPath(text.substr(kUnix.size()))
                              : WhyNotTcp(text);
  if (why.empty()) return absl::OkStatus();
  return UsageError("\"" + OneLine(address, kMaxRepeated) +
                    "\" is not an address: " + OneLine(why, kMaxRepeated) +
                    ". Expected HOST[:PORT], [IPV6][:PORT] or unix:PATH");
}

}  // namespace actord::client
