// gRPC's counts about the connections of one server. They are read from gRPC's
// registry (channelz), which is part of its C core and needs no service.
//
// Thread-safety: one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace actord::daemon {

struct SocketCounts {
  // Calls that the client began.
  uint64_t started = 0;
  // Calls that gRPC has cleaned up, however they ended.
  uint64_t ended = 0;
  // Messages that a handler has read, and messages that were sent.
  uint64_t received = 0;
  uint64_t sent = 0;

  // Calls that are open, or that have ended and are not cleaned up.
  [[nodiscard]] uint64_t left() const {
    // gRPC writes the counts one by one, so `ended` may be ahead for a moment.
    return started > ended ? started - ended : 0;
  }
};

// Reads the counts out of gRPC's JSON. A count that is missing is 0.
SocketCounts ParseSocketCounts(std::string_view json);

class Channelz {
 public:
  // Finds the newest server of the program. To be called when that server has
  // started; has no effect if there is no server.
  void FindServer();

  // Calls `visit` for the sockets of the server whose number is `first` or
  // more. `peer` is as gRPC's `peer()` spells it. Returns the first number that
  // has not been used so far.
  int64_t List(int64_t first,
               const std::function<void(int64_t id, std::string peer)>& visit);
  // nullopt: the socket is closed.
  static std::optional<SocketCounts> Read(int64_t id);

 private:
  int64_t server_ = 0;
};

}  // namespace actord::daemon
