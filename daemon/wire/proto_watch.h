// Watches of processes on the wire: what is watched, where a watch goes on, and
// events.
//
// A resume token is opaque: the run of the daemon, a place in the snapshot or
// in the log of events, and a checksum over these and the filters, so that a
// text that is none, or of other filters, is refused instead of showing
// something wrong. It keeps out mistakes, not malice: one that is made up shows
// no more than a watch that begins.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "actord/v1/watch.pb.h"
#include "runtime/actors/lifecycle_log.h"
#include "runtime/runtime.h"

namespace actord::daemon {

// How far a watch has come.
struct WatchPlace {
  uint64_t cursor = 0;  // in the log of events: where to read on
  // Where the next page of the snapshot begins, 0 for the first; nullopt: there
  // is none to be sent.
  std::optional<uint32_t> slot;

  friend bool operator==(const WatchPlace&, const WatchPlace&) = default;
};

struct WatchOrder {
  runtime::ProcessFilter filter;
  bool skip_snapshot = false;
  uint32_t scope = 0;  // a hash over the filters
  // Nullopt: from the beginning.
  std::optional<WatchPlace> resumes;
  // Or of a run of the daemon that is no more: something was missed.
  bool resumes_other_run = false;
};

// INVALID_FIELD, INVALID_PID, INVALID_RESUME_TOKEN.
absl::StatusOr<WatchOrder> ReadWatch(const v1::WatchProcessesRequest& request,
                                     uint32_t incarnation);
std::string MakeResumeToken(uint32_t incarnation, uint32_t scope,
                            const WatchPlace& place);

void WriteEvent(const runtime::LifecycleEvent& event, v1::ProcessEvent* proto);

}  // namespace actord::daemon
