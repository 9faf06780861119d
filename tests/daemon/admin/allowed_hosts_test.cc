#include "daemon/admin/allowed_hosts.h"

#include <gtest/gtest.h>

namespace actord::daemon {
namespace {

TEST(AllowedHosts, AddressesAndNamesOfTheDaemonAreAllowed) {
  const AllowedHosts hosts({"Probe.example:7601", "unix:/run/admin.sock"},
                           {"actord-0.Actord"});
  for (const char* host :
       {"127.0.0.1", "127.0.0.1:7601", "192.0.2.7:80", "[::1]", "[::1]:7601",
        "localhost", "LocalHost:1", "probe.example:9", "actord-0.actord"}) {
    EXPECT_TRUE(hosts.Allows(host)) << host;
  }
}

TEST(AllowedHosts, NamesOfStrangersAreRefused) {
  const AllowedHosts hosts({"127.0.0.1:7601"}, {});
  for (const char* host :
       {"", ":7601", "evil.example", "evil.example:7601", "localhost.evil",
        "127.0.0.1.evil.example", "127.1", "[::1", "[::1]evil", "[evil]",
        "127.0.0.1 evil", "0x7f000001"}) {
    EXPECT_FALSE(hosts.Allows(host)) << host;
  }
}

}  // namespace
}  // namespace actord::daemon
