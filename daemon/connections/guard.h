// The thread that watches the open connections. It forgets the connections that
// have ended, cuts connections that flood the daemon (guard_policy.h), and cuts
// all connections at the daemon's end.
//
// The kernel tells which connections were active since the last tick, so the
// guard costs nothing while all are idle. It asks gRPC only about the TCP
// connections that have received the most bytes, at most kMaxAsked a tick.
// Asking gRPC takes longer than counting the resets in the bytes that gRPC has
// not read. So the guard counts resets for every active connection without TLS,
// and cuts connections with too many of them (MaxResetsOfEach) before gRPC has
// parsed the bytes, and the same for pings. Encrypted bytes show nothing, so
// for connections with TLS the unread calls that gRPC has parsed count as
// resets. They share the limit of one connection with those of the same
// address, and each may have as many more as it has earned by calls that were
// read. Their windows are small (NarrowWindow) until they have proved to be no
// flood (ConnectionHistory::is_proved). The kernel does not count the bytes of
// Unix sockets. So the guard ranks active Unix sockets by the bytes that gRPC
// has not read, and asks about kMaxUnixAsked of them a tick. It cuts a Unix
// socket only for its calls, not for its bytes.
//
// Thread-safety: Watch and CutAllIn may be called from any thread. Start, Stop
// and the destructor are for one thread. Ownership: owns the thread; borrows
// everything else.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "daemon/connections/connection_counts.h"
#include "daemon/connections/grpc_sockets.h"
#include "daemon/connections/guard_policy.h"
#include "daemon/connections/registry.h"
#include "daemon/log/logging.h"
#include "daemon/log/spaced_warning.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

class ConnectionGuard {
 public:
  ConnectionGuard(const GuardLimits& limits, ConnectionRegistry& registry,
                  GrpcSockets& sockets, ConnectionCounts& counts,
                  Logger& logger, const runtime::Clock& clock);
  ~ConnectionGuard();
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;

  // To be called when gRPC's server has started. INTERNAL: the system has no
  // thread or no descriptor left.
  absl::Status Start();
  void Stop();

  // Watches a connection that is in the registry, until its end. To be called
  // between Start and Stop: for TCP before gRPC has the descriptor, and for a
  // Unix socket when the registry has its number of gRPC. `cookie`: the cookie
  // of the socket.
  void Watch(uint64_t id, int fd, uint64_t cookie);

  // Cuts all connections after this time, and later ones at the next ticks.
  void CutAllIn(absl::Duration patience);

 private:
  // The known facts about a connection since gRPC was asked about it.
  struct Watched {
    // gRPC's number; 0: not known.
    int64_t socket = 0;
    ConnectionHistory history;
    bool is_cut = false;
    bool is_wide = false;  // WidenWindow was called
  };

  void Run();
  // Waits for activity, and returns the connections that were active.
  std::vector<uint64_t> AwaitActivity();
  // Does the work that is due at this time.
  void Tick(uint64_t now_ns);
  void Look(const std::vector<uint64_t>& active);
  // Frames in the first bytes that gRPC has not read, counted up to one above
  // the limit; 0: too few bytes, or TLS.
  struct UnreadFrames {
    uint64_t resets = 0;  // calls that are begun and reset
    uint64_t pings = 0;
  };
  struct Suspicion {
    Connection connection;
    Traffic traffic;
    uint64_t bytes = 0;  // for the rank among others
    UnreadFrames unread;
  };
  // The reason to ask gRPC about an active connection; nullopt: there is none.
  std::optional<Suspicion> Suspect(uint64_t id);
  // Asks gRPC about the connection, and cuts it if it floods.
  void Ask(uint64_t id, const Connection& connection, const Traffic& traffic);
  // The connections that share a limit. A flood over TCP does not lower the
  // limit of Unix sockets, nor a flood over TLS that of other addresses.
  struct Sharers {
    // Connections with more than kSuspectResets resets in this tick.
    uint64_t resetting = 0;
    // The same of the tick before; only with TLS, where the count of this tick
    // is complete after all connections have been judged.
    uint64_t resetting_before = 0;
    // Connections that were cut for their resets.
    RecentCount cuts;
  };
  Sharers& SharersOf(const Connection& connection);
  UnreadFrames CountFrames(const Connection& connection, uint64_t unread_bytes);
  // Whether the connection has too many resets. Counts it among the sharers.
  bool HasTooManyResets(uint64_t id, const Suspicion& suspicion);
  // The number of resets that a connection may have at the moment.
  uint64_t MaxResets(const Connection& connection);
  // The limits of a connection whose calls gRPC has counted.
  GuardLimits LimitsOf(const Connection& connection, const Watched& watched);
  // Takes the facts of gRPC about a connection with TLS.
  void JudgeEncrypted(const Connection& connection, Watched& watched);
  void CutFlood(const Connection& connection, Verdict verdict,
                Watched& watched);
  void ForgetEnded();

  const GuardLimits limits_;
  ConnectionRegistry& registry_;
  GrpcSockets& sockets_;
  ConnectionCounts& counts_;
  const runtime::Clock& clock_;
  std::vector<char> peeked_;
  SpacedWarning resets_warning_;
  SpacedWarning bytes_warning_;
  absl::flat_hash_map<uint64_t, Watched> watched_;
  std::vector<uint64_t> suspects_;
  bool is_refreshed_ = false;  // `sockets_`, in this look
  Sharers tcp_sharers_;
  Sharers unix_sharers_;
  // Of TLS, by the group of the address.
  absl::flat_hash_map<std::string, Sharers> tls_sharers_;
  uint64_t next_sweep_ns_ = 0;
  uint64_t next_forget_ns_ = 0;
  uint64_t trim_ns_ = UINT64_MAX;  // UINT64_MAX: not due

  int epoll_ = -1;
  // Wakes the thread.
  int event_ = -1;
  // Stop writes it, the thread reads it. Relaxed: `event_` orders both.
  std::atomic<bool> stopping_{false};
  // CutAllIn writes it, the thread reads it. Relaxed, as above.
  std::atomic<uint64_t> cut_all_ns_{UINT64_MAX};
  std::thread thread_;
};

}  // namespace actord::daemon
