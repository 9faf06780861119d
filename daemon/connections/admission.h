// Decides whether the daemon accepts one more connection.
//
// Thread-safety: plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace actord::daemon {

struct ConnectionLimits {
  // Open connections.
  size_t max = 0;
  // Open connections of one address group (peer_address.h).
  size_t max_per_address = 0;
  // The first descriptor that no connection may have: the descriptors from here
  // on are the reserve of the other parts of the daemon.
  uint64_t first_reserved = 0;
  // Open calls of a connection, of which gRPC tells the client.
  uint32_t max_calls = 0;
};

// The limits of a configuration, without `max_calls`, on a system that lets the
// daemon open `max_descriptors` descriptors. If the configuration says 0, the
// limit is the number of connections that the descriptors allow, at most
// kMaxDefault, because a silent connection may take 64 KiB; one address may
// have half of them.
inline constexpr uint64_t kMaxDefault = 16384;
ConnectionLimits LimitsFor(uint64_t max, uint64_t max_per_address,
                           uint64_t reserved_descriptors,
                           uint64_t max_descriptors);

enum class Refusal { kNone, kTotal, kAddress, kDescriptors };

// `descriptor`: the descriptor of the new connection. The system always gives
// the lowest free number, so a connection with a number below `first_reserved`
// leaves the reserve alone. `open` and `open_of_address` do not count the new
// connection. `has_address`: false for a Unix socket, for which
// `max_per_address` does not count.
Refusal Admit(const ConnectionLimits& limits, int descriptor, size_t open,
              bool has_address, size_t open_of_address);

}  // namespace actord::daemon
