// The thread that watches the open connections. It forgets the connections that
// are over, cuts the connections that flood the daemon (guard_policy.h), and
// cuts all of them at the daemon's end.
//
// The kernel tells which connections were active since the last tick, so the
// guard costs nothing while all are idle. It asks gRPC only about the
// connections that have received the most bytes, at most kMaxAsked a tick.
// Unix sockets are not watched for floods: gRPC gives them no names.
//
// Thread-safety: Watch and CutAllIn may be called from any thread. Start, Stop
// and the destructor are for one thread. Ownership: owns the thread; borrows
// everything else.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "daemon/connections/channelz.h"
#include "daemon/connections/connection_counts.h"
#include "daemon/connections/guard_policy.h"
#include "daemon/connections/registry.h"
#include "daemon/connections/spaced_warning.h"
#include "daemon/log/logging.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

class ConnectionGuard {
 public:
  ConnectionGuard(const GuardLimits& limits, ConnectionRegistry& registry,
                  ConnectionCounts& counts, Logger& logger,
                  const runtime::Clock& clock);
  ~ConnectionGuard();
  ConnectionGuard(const ConnectionGuard&) = delete;
  ConnectionGuard& operator=(const ConnectionGuard&) = delete;

  // To be called when gRPC's server has started. INTERNAL: the system has no
  // thread or no descriptor left.
  absl::Status Start();
  void Stop();

  // Watches a connection that is in the registry, until its end. To be called
  // between Start and Stop, before gRPC has the descriptor.
  void Watch(uint64_t id, int fd, bool is_tcp);

  // Cuts all connections after this time, and later ones at the next ticks.
  void CutAllIn(absl::Duration patience);

 private:
  // What is known of a connection since gRPC was asked about it.
  struct Watched {
    // gRPC's number; 0: not known.
    int64_t socket = 0;
    ConnectionHistory history;
    bool is_cut = false;
  };

  void Run();
  // Waits for activity, and returns the connections that were active.
  std::vector<uint64_t> AwaitActivity();
  // Does what is due by time.
  void Tick(uint64_t now_ns);
  void Look(const std::vector<uint64_t>& active);
  // Asks gRPC about the connection, and cuts it if it floods.
  void Ask(uint64_t id, const Connection& connection, const Traffic& traffic);
  int64_t SocketOf(const std::string& peer);
  void CutFlood(const Connection& connection, Verdict verdict,
                Watched& watched);
  void ForgetEnded();

  const GuardLimits limits_;
  ConnectionRegistry& registry_;
  ConnectionCounts& counts_;
  const runtime::Clock& clock_;
  std::vector<char> peeked_;
  SpacedWarning resets_warning_;
  SpacedWarning bytes_warning_;

  Channelz channelz_;
  // The sockets that gRPC has listed so far, by peer.
  absl::flat_hash_map<std::string, int64_t> sockets_;
  int64_t next_socket_ = 0;
  absl::flat_hash_map<uint64_t, Watched> watched_;
  std::vector<uint64_t> suspects_;
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
