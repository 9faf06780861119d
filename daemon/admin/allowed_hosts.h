// Decides for which values of the Host header the admin port answers.
//
// A stranger's web site can make a browser send requests to a loopback address
// under the name of that site (DNS rebinding), and its scripts may then read
// the answers. The browser sends that name in Host, so the port refuses names
// that do not belong to this daemon. An address is always allowed, because no
// name service can redirect it to another machine. Requests by pages of other
// sites: IsForeignPage (daemon/api/foreign_page.h).
//
// Thread-safety: constant once made; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace actord::daemon {

class AllowedHosts {
 public:
  // Allows addresses, "localhost", the hosts of `listen` (addresses as in the
  // configuration) and `names`.
  AllowedHosts(const std::vector<std::string>& listen,
               const std::vector<std::string>& names);

  // `host`: "name", "name:port", "127.0.0.1:7601", "[::1]:7601". Any port is
  // allowed, because a proxy or a container may use another one.
  [[nodiscard]] bool Allows(std::string_view host) const;

 private:
  std::vector<std::string> names_;  // in lower case
};

}  // namespace actord::daemon
