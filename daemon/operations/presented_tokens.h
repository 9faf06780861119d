// Remembers which token the calls of each connection present, for the list of
// clients.
//
// A call is noted once in a round (a second) for each connection and token.
// All its other calls cost a look into an array of numbers. Two connections
// may share a place in the array, and are noted more often then.
//
// Unix sockets are not noted: gRPC does not tell them apart.
//
// Thread-safety: any thread. Ownership: borrows the registry.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "daemon/connections/registry.h"
#include "daemon/operations/caller.h"

struct grpc_call;

namespace actord::daemon {

class PresentedTokens {
 public:
  explicit PresentedTokens(ConnectionRegistry& connections)
      : connections_(connections) {}

  // To be called for each call that the gate has let through.
  void Note(grpc_call* call, const Caller& caller);
  // Begins a round. To be called each second, so that a new connection whose
  // mark is that of an old one is noted, too.
  void NextRound() { round_.fetch_add(1, std::memory_order_relaxed); }

 private:
  static constexpr size_t kPlaces = 4096;

  ConnectionRegistry& connections_;
  // Relaxed, both: a stale value makes a call be noted again, or a round late.
  std::atomic<uint64_t> round_{1};
  // The marks of connection, token and round; 0: none.
  std::array<std::atomic<uint64_t>, kPlaces> noted_{};
};

}  // namespace actord::daemon
