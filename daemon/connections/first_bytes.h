// Accepted connections whose first bytes have not arrived.
//
// gRPC gets a connection only when its client has spoken. The first bytes show
// the protocol of the client. gRPC closes a connection of another protocol
// without a report, and nobody else can read the bytes that gRPC has read. A
// silent client costs a descriptor, and nothing of gRPC's memory.
//
// A client without TLS gets a SETTINGS frame at once. A client of gRPC's C core
// that nobody polls looks at its socket every 5 s. It must find the server's
// first frame at the look that shows the connection, because the next look can
// come after the time that it gives a connection. gRPC's own SETTINGS follow.
// gRPC takes the client's acknowledgement of the first frame for that of its
// own. So the first frame has the limit on calls, which gRPC enforces from then
// on. Clients that have spoken already get it, too: guard_policy.cc knows by
// the number of bytes sent whether gRPC has answered.
//
// Thread-safety: one thread. Ownership: owns the descriptors of the waiting
// connections; borrows the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "daemon/connections/registry.h"
#include "daemon/log/logging.h"
#include "daemon/log/spaced_warning.h"
#include "runtime/system/clock.h"

namespace actord::daemon {

class FirstBytes {
 public:
  // An event of epoll with this bit is of a waiting connection. The other bits
  // are the number of the connection.
  static constexpr uint64_t kEventBit = uint64_t{1} << 63;

  struct Waiting {
    uint64_t id = 0;  // in the registry
    int fd = -1;
    int listener = -1;
    bool is_tcp = false;
    // OpenSSL judges the bytes, so one byte is enough.
    bool has_tls = false;
  };
  // Takes over a connection whose first bytes have arrived.
  using HandOver = std::function<void(const Waiting& connection)>;

  // `patience`: a connection without enough bytes is closed after this time.
  // `max_calls`: the limit of gRPC on the open calls of a connection.
  FirstBytes(absl::Duration patience, uint32_t max_calls,
             ConnectionRegistry& registry, Logger& logger,
             const runtime::Clock& clock);
  ~FirstBytes() { CloseAll(); }
  FirstBytes(const FirstBytes&) = delete;
  FirstBytes& operator=(const FirstBytes&) = delete;

  // `epoll` reports the bytes of waiting connections. To be called once, before
  // the other functions.
  void Start(int epoll, HandOver hand_over);

  // Hands the connection over as soon as its first bytes are there, at once if
  // they are there already. Warns if they are not of gRPC's protocol.
  void Await(const Waiting& connection);
  // To be called for an event with kEventBit. `events`: those of epoll.
  void OnEvent(uint64_t data, uint32_t events);
  // Closes the connections that have waited for too long, with a warning.
  void CloseLate();
  void CloseAll();

  [[nodiscard]] bool empty() const { return waiting_.empty(); }

 private:
  // A connection that cannot be written to ends, and epoll reports that.
  void SendSettings(int fd) const;
  // Whether the connection is to be handed over now.
  bool IsDecided(const Waiting& connection);
  void WarnOfOtherProtocol(const Waiting& connection, std::string_view bytes);
  void WarnOfSilence(const Waiting& connection);
  // The client, for the log.
  [[nodiscard]] std::string PeerOf(const Waiting& connection) const;
  void Close(const Waiting& connection);

  const absl::Duration patience_;
  const std::string settings_;  // the frame
  ConnectionRegistry& registry_;
  const runtime::Clock& clock_;
  SpacedWarning tls_warning_;
  SpacedWarning http1_warning_;
  SpacedWarning garbage_warning_;
  SpacedWarning silence_warning_;
  int epoll_ = -1;
  HandOver hand_over_;
  std::vector<char> buffer_;
  absl::flat_hash_map<uint64_t, Waiting> waiting_;
  // The ends of the patience, by time, with the numbers of the connections.
  // Connections that no longer wait stay until their time.
  std::deque<std::pair<uint64_t, uint64_t>> ends_;
};

}  // namespace actord::daemon
