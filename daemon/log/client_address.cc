#include "daemon/log/client_address.h"

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace actord::daemon {

std::string ClientAddress(std::string_view peer) {
  for (const std::string_view family : {"ipv4:", "ipv6:"}) {
    if (!peer.starts_with(family)) continue;
    peer.remove_prefix(family.size());
    return absl::StrReplaceAll(absl::string_view(peer.data(), peer.size()),
                               {{"%25", "%"}, {"%5B", "["}, {"%5D", "]"}});
  }
  return std::string(peer);
}

}  // namespace actord::daemon
