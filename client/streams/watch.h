// Watches the processes of one daemon: first the live processes, then each
// start and end. Reconnects when the connection breaks and resumes where it
// was. So a break loses nothing as long as the daemon keeps the events of that
// time.
//
// Events are reported in the order in which they happened: for each process a
// start before its end, each of them once. A snapshot comes at the beginning,
// and again after a gap (the daemon has restarted, this client was away for too
// long, or it read too slowly), unless snapshots are off. To keep the set of
// live PIDs:
//   clear the set when a snapshot begins,
//   add each process of the snapshot and each that starts (it may be there),
//   remove each process that ends (it may not be there).
// The set then holds the live processes, as the daemon knew them a moment ago.
//
// Thread-safety: see the functions. Ownership: owns its connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actord/v1/watch.pb.h"
#include "client/calls/cancellation.h"
#include "client/calls/endpoint.h"

namespace actord::client {

// All functions may be empty. They run on the thread of Run, and delay the next
// response: if they are slow, the daemon drops the events that it cannot keep,
// and `on_missed` is called.
struct ProcessWatchOptions {
  // Only processes of this type, at most 128 bytes; "": all.
  std::string process_type;
  // Only children of this process, a PID or @NAME; "": all. The name is looked
  // up once: after a reconnect the watch goes on with the same PID.
  std::string parent_pid;
  // Only processes with each of these labels, KEY=VALUE or KEY; none: all.
  std::vector<std::string> labels;
  // The resume_token() of an earlier watch with the same filters, at which to
  // begin. "": now, with a snapshot.
  std::string resume_token;
  bool skip_snapshot = false;

  // First delay between attempts to connect; it doubles up to
  // `max_reconnect_delay`.
  absl::Duration reconnect_delay = absl::Milliseconds(100);
  absl::Duration max_reconnect_delay = absl::Seconds(5);

  // `parent_pid` is a name, and this process holds it.
  std::function<void(const std::string& pid)> on_parent;
  // A snapshot begins: forget the processes that were known before.
  std::function<void()> on_snapshot;
  // One process of the snapshot.
  std::function<void(const v1::Process&)> on_process;
  // The snapshot is complete.
  std::function<void()> on_snapshot_end;
  std::function<void(const v1::ProcessStarted&)> on_started;
  std::function<void(const v1::ProcessEnded&)> on_ended;
  // This number of events, of any process, was missed; 0: an unknown number.
  std::function<void(uint64_t count)> on_missed;
  // One response has been reported completely: write the gathered output.
  std::function<void()> on_told;
  // The daemon has answered, for the first time or after a reconnect.
  std::function<void()> on_connected;
  // There is no connection; the next attempt follows after `delay`.
  std::function<void(const absl::Status& why, absl::Duration delay)> on_broken;
};

class ProcessWatch {
 public:
  // Run connects.
  ProcessWatch(const Endpoint& endpoint, ProcessWatchOptions options);
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  // Reports events until `stop` is cancelled, and then returns OK. Otherwise
  // returns the error that makes a retry useless, such as INVALID_ARGUMENT for
  // a malformed token, or UNIMPLEMENTED for a daemon that does not know labels;
  // `stop` may be cancelled then. A function that is running is not
  // interrupted; a function that cancels `stop` is the last to be called. Call
  // Run once.
  absl::Status Run(Cancellation& stop);

  // The token with which another watch with the same filters resumes: behind
  // the last response that was reported completely. Inside a function: behind
  // the response before. For the thread of Run, or after Run has returned.
  [[nodiscard]] const std::string& resume_token() const;

 private:
  class Watch;
  const std::unique_ptr<Watch> watch_;
};

}  // namespace actord::client
