#include "daemon/admin/allowed_hosts.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "daemon/settings/config_text.h"

namespace actord::daemon {
namespace {

bool IsAddress(int family, const std::string& text) {
  in6_addr address{};  // room for either family
  return inet_pton(family, text.c_str(), &address) == 1;
}

}  // namespace

AllowedHosts::AllowedHosts(const std::vector<std::string>& listen,
                           const std::vector<std::string>& names)
    : names_{"localhost"} {
  for (const std::string& text : listen) {
    const auto address = ParseListenAddress(text);
    if (address.ok() && !address->is_unix) {
      names_.push_back(absl::AsciiStrToLower(address->host));
    }
  }
  for (const std::string& name : names) {
    names_.push_back(absl::AsciiStrToLower(name));
  }
}

bool AllowedHosts::Allows(std::string_view host) const {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    if (end == std::string_view::npos) return false;
    const std::string_view port = host.substr(end + 1);
    return (port.empty() || port.front() == ':') &&
           IsAddress(AF_INET6, std::string(host.substr(1, end - 1)));
  }
  const std::string name = absl::AsciiStrToLower(
      absl::string_view(host.data(), std::min(host.find(':'), host.size())));
  return IsAddress(AF_INET, name) ||
         std::find(names_.begin(), names_.end(), name) != names_.end();
}

}  // namespace actord::daemon
