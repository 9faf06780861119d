// Decides when a connection is cut, and which connections are examined.
//
// Two floods cost the daemon far more than their clients, and are below every
// handler:
//   resets  Calls that are begun and reset at once. gRPC cleans up a call long
//           after it has parsed the reset, so the remaining calls grow without
//           a bound, and nobody reads their requests.
//   bytes   Bytes that are neither a call nor a message: endless headers,
//           empty frames. gRPC sends nothing for them. For a large message it
//           sends window updates, but after them up to the whole message comes
//           without another one.
//
// Thread-safety: plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/connections/channelz.h"
#include "daemon/connections/socket_facts.h"

namespace actord::daemon {

struct GuardLimits {
  // Calls of one connection that no handler has read, since the connection had
  // no call left.
  uint64_t max_unread_calls = 0;
  // Calls of one connection that are open or not cleaned up.
  uint64_t max_left_calls = 0;
  // Bytes that gRPC has read without a new call, a message, or an answer of any
  // kind: for a client that has got no answer for 400 ms, and for any other
  // client.
  uint64_t max_idle_bytes_first = 0;
  uint64_t max_idle_bytes = 0;
};

// The limits of a daemon that allows a client `max_concurrent_streams` and
// requests of `max_request_bytes`.
GuardLimits GuardLimitsFor(int max_concurrent_streams,
                           uint64_t max_request_bytes);

// A connection is a suspect if its bytes that gRPC has not read begin and reset
// at least this many calls.
inline constexpr uint64_t kSuspectResets = 100;

// A client waits for the answer to a ping before it sends the next one. gRPC
// keeps the answers that a client does not read, some 100 MiB for a connection.
// So a connection with more unread pings than this is cut.
inline constexpr uint64_t kMaxUnreadPings = 100;

// Connections that may use their whole limit at once.
inline constexpr uint64_t kSharers = 4;

// The number of such calls that each connection may have if there are
// `suspects` suspects. Together they may have kSharers times as many as one
// connection alone, so the memory that a flood takes does not grow with its
// connections. At least kSuspectResets.
uint64_t MaxResetsOfEach(const GuardLimits& limits, uint64_t suspects);

// Counts the events of the last second, and of up to one second before it.
class RecentCount {
 public:
  // `now_ns`: of a monotonic clock.
  void Add(uint64_t now_ns);
  [[nodiscard]] uint64_t Get(uint64_t now_ns);

 private:
  void Turn(uint64_t now_ns);

  // The beginning of the second that `now_` counts; `before_` counts the second
  // before.
  uint64_t turn_ns_ = 0;
  uint64_t now_ = 0;
  uint64_t before_ = 0;
};

enum class Verdict { kNone, kResets, kBytes };

// The facts of the kernel and of gRPC about a connection at one moment.
struct Observation {
  SocketCounts counts;
  Traffic traffic;
  // Calls that are begun and reset in bytes that gRPC has not read.
  uint64_t waiting_calls = 0;
  uint64_t time_ns = 0;  // of a monotonic clock
};

// The history of one connection.
class ConnectionHistory {
 public:
  // At most some 600 resets.
  static constexpr uint64_t kAskBytes = 16 << 10;
  // For a connection whose calls the daemon reads without delay.
  static constexpr uint64_t kMaxAskBytes = 128 << 10;

  // Judges the connection after one more observation.
  Verdict Judge(const GuardLimits& limits, const Observation& now);

  [[nodiscard]] const Observation& last() const { return last_; }
  // Calls of the connection that handlers had read when it last had few calls
  // left. A client whose calls are read has earned as many unread ones.
  [[nodiscard]] uint64_t earned_calls() const { return quiet_.received; }
  // True: many calls are unread, so the guard asks again at the next tick.
  [[nodiscard]] bool is_suspect() const { return is_suspect_; }
  // True: handlers have read many of its calls, or gRPC has read more of one
  // message.
  [[nodiscard]] bool is_proved() const { return is_proved_; }
  // The guard asks gRPC again only after the connection has received this many
  // more bytes. A flood sends more between two ticks, so it is found just as
  // soon.
  [[nodiscard]] uint64_t ask_bytes() const { return ask_bytes_; }

 private:
  Observation last_;
  // The counts when the connection had few calls left.
  SocketCounts quiet_;
  uint64_t idle_bytes_ = 0;
  uint64_t idle_since_ns_ = 0;
  bool is_suspect_ = false;
  bool is_proved_ = false;
  uint64_t ask_bytes_ = kAskBytes;
};

// The calls that are begun and reset in the `unread_bytes` of an unencrypted
// connection, of which the first ones were `peeked`. If these hold more than
// kSuspectResets, the other bytes are assumed to hold resets at the same rate.
// If they hold fewer, the other bytes count as none, because they may be a
// large message.
uint64_t EstimateResets(std::string_view peeked, uint64_t unread_bytes);

// A connection that has received `bytes` since the guard asked gRPC about it.
struct Candidate {
  uint64_t id = 0;
  uint64_t bytes = 0;
};
// Keeps the `max` candidates with the most bytes, in any order.
void KeepBusiest(size_t max, std::vector<Candidate>& candidates);

}  // namespace actord::daemon
