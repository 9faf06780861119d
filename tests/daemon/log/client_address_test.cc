#include "daemon/log/client_address.h"

#include <gtest/gtest.h>

namespace actord::daemon {
namespace {

TEST(ClientAddress, IsAsPeopleWriteIt) {
  EXPECT_EQ(ClientAddress("ipv4:192.0.2.1:4711"), "192.0.2.1:4711");
  EXPECT_EQ(ClientAddress("ipv6:%5B::1%5D:4711"), "[::1]:4711");
  EXPECT_EQ(ClientAddress("ipv6:%5Bfe80::1%252%5D:4711"), "[fe80::1%2]:4711");
  EXPECT_EQ(ClientAddress("unix:17"), "unix:17");
  EXPECT_EQ(ClientAddress("unix:"), "unix:");
  EXPECT_EQ(ClientAddress(""), "");
}

}  // namespace
}  // namespace actord::daemon
