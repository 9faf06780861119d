// Callbacks of requests that are answered later, and the ids that cancel them.
//
// Thread-safety: each callback runs once, on any thread, and must not block.
#pragma once

#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "runtime/process/outcome.h"
#include "runtime/process/payload.h"
#include "runtime/process/pid.h"
#include "runtime/process/submission.h"

namespace actord::runtime {

using SubmitCallback = absl::AnyInvocable<void(absl::StatusOr<Pid>) &&>;
using SubmitOrDeliverCallback =
    absl::AnyInvocable<void(absl::StatusOr<Submitted>) &&>;
using AwaitCallback = absl::AnyInvocable<void(absl::StatusOr<Outcome>) &&>;
// 0: the callback has run, or is about to run.
using AwaitId = uint64_t;
using CallCallback = absl::AnyInvocable<void(absl::StatusOr<Payload>) &&>;
// 0: the callback has run, or is about to run.
using CallId = uint64_t;
// The answer to a call with a message id.
struct CallReply {
  Pid pid;  // the called process
  Payload result;
  bool duplicate = false;  // an earlier call with the id got the answer first
};
using CallOnceCallback = absl::AnyInvocable<void(absl::StatusOr<CallReply>) &&>;

}  // namespace actord::runtime
