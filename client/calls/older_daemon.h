// Tells whether a daemon that is older than this client has ignored a part of a
// request. Such a daemon answers OK, because it does not see fields that it
// does not know. The errors are UNIMPLEMENTED, and have no details of actord.
//
// Thread-safety: pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "actord/v1/outcome.pb.h"
#include "actord/v1/process.pb.h"
#include "actord/v1/watch.pb.h"

namespace actord::client {

// OK, or the durability or the labels are ignored. Of `request` it reads these
// two alone. The process has started nevertheless, and the message has its PID.
absl::Status CheckSubmitted(const v1::SubmitRequest& request,
                            const v1::SubmitResponse& response);

// `error`, or that start_if_absent is ignored: a daemon that knows the field
// starts a process where an older one answers NAME_NOT_FOUND.
absl::Status ExplainUnstarted(const v1::CallRequest& request,
                              const absl::Status& error);

// OK, or the deadline is ignored: the process was asked to end, and the daemon
// will not terminate it.
absl::Status CheckCancelled(const v1::CancelRequest& request,
                            const v1::CancelResponse& response);

// OK, or the response has a process without the labels by which the request
// selects.
absl::Status CheckSelected(const v1::ListProcessesRequest& request,
                           const v1::ListProcessesResponse& response);
absl::Status CheckWatched(const v1::WatchProcessesRequest& request,
                          const v1::WatchProcessesResponse& response);

}  // namespace actord::client
