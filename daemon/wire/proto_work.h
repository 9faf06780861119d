// Translates the messages of Work for the runtime, and back.
//
// Errors are INVALID_ARGUMENT and name the field.
//
// Thread-safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actord/v1/work.pb.h"
#include "runtime/tasks/remote_tasks.h"

namespace actord::daemon {

// Maximum number of completions, failures and heartbeats in one message, added
// together.
inline constexpr int kMaxWorkItems = 1000;

// Checks the field `subscribe` of the first message. `work` says which commands
// may be external.
absl::Status CheckSubscribe(const v1::Subscribe& subscribe,
                            const runtime::RemoteTasks& work);
// Checks the message as a whole: the first message must have `subscribe`, and
// every later message must not; and no message may have too many items.
absl::Status CheckWorkRequest(const v1::WorkRequest& request, bool is_first);

struct WorkFailure {
  runtime::TaskToken token;
  runtime::TaskFailure failure;
};
absl::StatusOr<WorkFailure> ReadTaskFailure(const v1::TaskFailure& proto);

struct WorkHeartbeat {
  runtime::TaskToken token;
  std::optional<runtime::Payload> progress;
};
absl::StatusOr<WorkHeartbeat> ReadTaskHeartbeat(v1::TaskHeartbeat* proto);

void WriteTask(runtime::TaskAttempt task, v1::Task* proto);
void WriteTaskCancel(const runtime::TaskCancel& cancel, v1::TaskCancel* proto);
void WriteRefusal(const absl::Status& status, v1::TaskRefusal* proto);

}  // namespace actord::daemon
