// Decides for which value of the header Host the admin port answers.
//
// A browser can be made to send requests to a loopback address under the name
// of a stranger's web site (DNS rebinding), whose scripts may then read the
// answers. The browser sends that name in Host, so names that are not of this
// daemon are refused. An address is always allowed: no name service can make it
// mean another machine.
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

  // `host`: "name", "name:port", "127.0.0.1:7601", "[::1]:7601". The port may
  // be any: a proxy or a container may have another one.
  [[nodiscard]] bool Allows(std::string_view host) const;

 private:
  std::vector<std::string> names_;  // in lower case
};

}  // namespace actord::daemon
