// Translates process watches to and from the wire: filters, resume tokens and
// events.
//
// A resume token is opaque. It contains the run of the daemon, a place in the
// snapshot or in the log of events, and a checksum over these and the filters.
// So a malformed token, or a token of other filters, is refused instead of
// showing wrong events. The checksum catches mistakes, not malice: a forged
// token shows no more than a new watch does.
//
// Thread-safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "actord/v1/watch.pb.h"
#include "runtime/actors/lifecycle_log.h"
#include "runtime/runtime.h"

namespace actord::daemon {

// The place that a watch has reached.
struct WatchPlace {
  uint64_t cursor = 0;  // the next position to read in the log of events
  // The slot where the next page of the snapshot begins; 0: the first page;
  // nullopt: no page is left to send.
  std::optional<uint32_t> slot;

  friend bool operator==(const WatchPlace&, const WatchPlace&) = default;
};

struct WatchOrder {
  runtime::ProcessFilter filter;
  bool skip_snapshot = false;
  uint32_t scope = 0;  // a hash over the filters
  // The place of the resume token; nullopt: the watch starts from the
  // beginning.
  std::optional<WatchPlace> resumes;
  // The resume token belongs to an earlier run of the daemon, so the client has
  // missed events.
  bool resumes_other_run = false;
};

// The reasons of errors are INVALID_FIELD, INVALID_PID and
// INVALID_RESUME_TOKEN.
// `by`: the watch shows the processes that `by` sees. `owner`: the name of `by`
// (Access::sees_name), which is the same in each run of the daemon. A resume
// token of another owner is refused.
absl::StatusOr<WatchOrder> ReadWatch(const v1::WatchProcessesRequest& request,
                                     uint32_t incarnation,
                                     runtime::Owner by = runtime::Owner::kAny,
                                     std::string_view owner = {});
std::string MakeResumeToken(uint32_t incarnation, uint32_t scope,
                            const WatchPlace& place);

void WriteEvent(const runtime::LifecycleEvent& event, v1::ProcessEvent* proto);

}  // namespace actord::daemon
