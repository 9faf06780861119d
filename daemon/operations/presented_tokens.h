// Remembers the token that the calls of each connection present, for the list
// of clients.
//
// A call is noted once in a round (a second) for each connection and token.
// All its other calls cost a look into an array of numbers. Two connections
// may share a place in the array, and are noted more often then.
//
// The first token that a connection presents counts the connection for its
// client (quotas.connections).
//
// Unix sockets are not noted: gRPC does not tell them apart.
//
// Thread-safety: any thread. Ownership: borrows the registry.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "daemon/connections/registry.h"
#include "daemon/operations/caller.h"

struct grpc_auth_context;

namespace actord::daemon {

class PresentedTokens {
 public:
  explicit PresentedTokens(ConnectionRegistry& connections)
      : connections_(connections) {}

  // To be called for each call that the gate has let through, with the call's
  // context.
  // RESOURCE_EXHAUSTED (CLIENT_QUOTA): the connection of the call is above the
  // quota of its client. Every call of this connection is refused until the
  // connection is cut.
  [[nodiscard]] absl::Status Note(const grpc_auth_context& context,
                                  const Caller& caller);
  // Begins a round. To be called each second, so that a new connection with the
  // same mark as an old one is noted, too. Returns the connections above their
  // quota in the previous round, which must be cut now: their clients have had
  // time to read the reason.
  [[nodiscard]] std::vector<uint64_t> NextRound();

 private:
  static constexpr size_t kPlaces = 4096;

  ConnectionRegistry& connections_;
  // Relaxed, both: a stale value makes a call be noted again, or a round late.
  std::atomic<uint64_t> round_{1};
  // The marks of connection, token and round; 0: none.
  std::array<std::atomic<uint64_t>, kPlaces> noted_{};

  absl::Mutex mutex_;
  // Connections above the quota: in this round, and in the previous round.
  absl::flat_hash_set<uint64_t> over_quota_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<uint64_t> over_quota_before_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace actord::daemon
