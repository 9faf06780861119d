// Watching the processes of one daemon: what lives, and then what starts and
// ends. Connects, and connects again when the connection breaks, and goes on
// where it was, so that a break costs nothing as long as the daemon keeps what
// happened meanwhile.
//
// What comes is told in the order in which it happened: of one process a start
// before its end, and each of them once. A snapshot comes at the beginning, and
// again behind a gap (the daemon has begun anew, this client was away for too
// long, or has read too slowly), unless it is not wanted. Whoever
//   clears a set of PIDs when a snapshot begins,
//   adds each process of the snapshot and each that starts (it may be there),
//   takes each that ends out of it (it may not be there)
// has the live processes in it, as the daemon knew them a moment ago.
//
// Thread-safety: see the functions. Ownership: owns its connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actord/v1/watch.pb.h"
#include "client/calls/cancellation.h"

namespace actord::client {

// All functions may be empty. They are called on the thread of Run, and what
// they take is what the daemon cannot send meanwhile: one that is slow makes
// the daemon drop what it cannot keep, which `on_missed` says.
struct ProcessWatchOptions {
  // Only processes of this type, 128 bytes at most; "": all.
  std::string process_type;
  // Only processes that this one spawned, a PID; "": all.
  std::string parent_pid;
  // Where to begin, of an earlier watch with the same filters (resume_token());
  // "": now, with a snapshot.
  std::string resume_token;
  bool skip_snapshot = false;

  // Between attempts to connect: this long at first, doubling up to
  // `max_reconnect_delay`.
  absl::Duration reconnect_delay = absl::Milliseconds(100);
  absl::Duration max_reconnect_delay = absl::Seconds(5);

  // A snapshot begins: what was known before is not known any more.
  std::function<void()> on_snapshot;
  // A process of the snapshot.
  std::function<void(const v1::Process&)> on_process;
  // It is complete.
  std::function<void()> on_snapshot_end;
  std::function<void(const v1::ProcessStarted&)> on_started;
  std::function<void(const v1::ProcessEnded&)> on_ended;
  // So many events, of any process, are not told; 0: nobody knows how many.
  std::function<void(uint64_t count)> on_missed;
  // All of one response has been told: for whoever writes out what it gathers.
  std::function<void()> on_told;
  // The daemon has answered, for the first time or again.
  std::function<void()> on_connected;
  // The connection broke, or there is none, and another is tried after `delay`.
  std::function<void(const absl::Status& why, absl::Duration delay)> on_broken;
};

class ProcessWatch {
 public:
  // `address` as Client's. Connects in Run.
  ProcessWatch(const std::string& address, ProcessWatchOptions options);
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  // Tells what comes until `stop` is cancelled; OK then. Otherwise the error
  // that makes another attempt useless, such as INVALID_ARGUMENT for a token
  // that is none. A function that is being called is not interrupted; one that
  // cancels `stop` is the last. Once.
  absl::Status Run(Cancellation& stop);

  // Where another watch with the same filters would go on: behind the last
  // response that was told whole. Within a function: behind the one before. For
  // the thread of Run, or when that has returned.
  [[nodiscard]] const std::string& resume_token() const;

 private:
  class Watch;
  const std::unique_ptr<Watch> watch_;
};

}  // namespace actord::client
