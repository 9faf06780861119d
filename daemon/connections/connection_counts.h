// The daemon's counts about its connections.
//
// Thread-safety: any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace actord::daemon {

// The accept thread and the guard write them, GetStatus reads them. Relaxed:
// the numbers are independent of each other and of all other data.
struct ConnectionCounts {
  std::atomic<uint64_t> accepted{0};
  // Refused, by reason (admission.h).
  std::atomic<uint64_t> refused_total{0};
  std::atomic<uint64_t> refused_address{0};
  std::atomic<uint64_t> refused_descriptors{0};
  // Cut by the guard.
  std::atomic<uint64_t> cut{0};

  static void Count(std::atomic<uint64_t>& counter) {
    counter.fetch_add(1, std::memory_order_relaxed);
  }
};

}  // namespace actord::daemon
