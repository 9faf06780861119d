// Addresses of sockets: the name of a connection's client, and its part of the
// limits.
//
// Thread-safety: pure functions.
#pragma once

#include <sys/socket.h>

#include <string>

namespace actord::daemon {

// The name that gRPC's `peer()` gives this client: "ipv4:192.0.2.1:4711",
// "ipv6:%5B2001:db8::1%5D:4711", "unix:". An IPv4 address that is mapped into
// IPv6 counts as IPv4. Not for sockets of another family.
std::string PeerName(const sockaddr_storage& address);

// "192.0.2.1:7600" or "[2001:db8::1]:7600". Not for Unix sockets.
std::string SocketAddressText(const sockaddr_storage& address);

// The addresses that share one allowance of connections: an IPv4 address
// ("192.0.2.1") or the /64 network of an IPv6 address ("2001:db8::/64"),
// because one host may use every address of its network. "" for a Unix socket,
// whose clients have no address.
std::string AddressGroup(const sockaddr_storage& address);

// Whether the address stands for all addresses of the machine, as 0.0.0.0 does.
// For IPv4 and IPv6.
bool IsWildcard(const sockaddr* address);

}  // namespace actord::daemon
