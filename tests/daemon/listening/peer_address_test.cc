#include "daemon/listening/peer_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

namespace actord::daemon {
namespace {

sockaddr_storage V4(const char* host, uint16_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET, host, &v4.sin_addr), 1);
  sockaddr_storage address{};
  std::memcpy(&address, &v4, sizeof v4);
  return address;
}

sockaddr_storage V6(const char* host, uint16_t port, uint32_t scope = 0) {
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v6.sin6_scope_id = scope;
  EXPECT_EQ(inet_pton(AF_INET6, host, &v6.sin6_addr), 1);
  sockaddr_storage address{};
  std::memcpy(&address, &v6, sizeof v6);
  return address;
}

sockaddr_storage Unix() {
  sockaddr_storage address{};
  address.ss_family = AF_UNIX;
  return address;
}

TEST(PeerName, IsSpelledAsGrpcSpellsIt) {
  EXPECT_EQ(PeerName(V4("192.0.2.1", 4711)), "ipv4:192.0.2.1:4711");
  EXPECT_EQ(PeerName(V6("2001:db8::1", 4711)), "ipv6:%5B2001:db8::1%5D:4711");
  EXPECT_EQ(PeerName(V6("::1", 57336)), "ipv6:%5B::1%5D:57336");
  EXPECT_EQ(PeerName(V6("fe80::1", 1, 3)), "ipv6:%5Bfe80::1%253%5D:1");
  EXPECT_EQ(PeerName(V6("::ffff:192.0.2.1", 7)), "ipv4:192.0.2.1:7");
  EXPECT_EQ(PeerName(Unix()), "unix:");
}

TEST(AddressGroup, IsTheAddressOrTheNetworkOfAHost) {
  EXPECT_EQ(AddressGroup(V4("192.0.2.1", 1)), "192.0.2.1");
  EXPECT_EQ(AddressGroup(V4("192.0.2.1", 2)), "192.0.2.1");
  EXPECT_EQ(AddressGroup(V6("::ffff:192.0.2.1", 7)), "192.0.2.1");
  EXPECT_EQ(AddressGroup(V6("2001:db8:1:2:3:4:5:6", 1)), "2001:db8:1:2::/64");
  EXPECT_EQ(AddressGroup(V6("2001:db8:1:2::9", 1)), "2001:db8:1:2::/64");
  EXPECT_EQ(AddressGroup(V6("2001:db8:1:3::9", 1)), "2001:db8:1:3::/64");
  EXPECT_EQ(AddressGroup(Unix()), "");
}

}  // namespace
}  // namespace actord::daemon
