// The waits in the runtime behind the calls Await and Call.
//
// Each wait has two functions:
//   Start(end)   begins the wait. The wait calls `end->Finish` exactly once
//                unless it is taken back, perhaps before Start returns.
//   TakeBack()   returns true if `end->Finish` has not been called and will
//                not be called.
//
// Thread-safety: Start happens before TakeBack, which any thread may call.
// Ownership: borrows the runtime, the source of the caller and, from Start on,
// the end.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "actord/v1/outcome.pb.h"
#include "actord/v1/process.pb.h"
#include "daemon/calls/starts/start_or_call.h"
#include "daemon/calls/wait_end.h"
#include "daemon/operations/caller.h"
#include "runtime/runtime.h"

namespace actord::daemon {

// Waits for the end of a process.
class OutcomeWait {
 public:
  using Response = v1::AwaitResponse;

  // `by`: see Runtime.
  OutcomeWait(runtime::Runtime& runtime, const runtime::Pid& pid,
              runtime::Owner by)
      : runtime_(&runtime), pid_(pid), by_(by) {}

  void Start(WaitEnd<Response>* end);
  bool TakeBack() { return runtime_->CancelAwait(pid_, id_); }

 private:
  runtime::Runtime* runtime_;
  runtime::Pid pid_;
  runtime::Owner by_;
  runtime::Runtime::AwaitId id_ = 0;
};

// Waits for the answer of a process to a call.
class ReplyWait {
 public:
  using Response = v1::CallResponse;

  // `message` is the message of the call. `message_id`: with "" the call has
  // none.
  ReplyWait(runtime::Runtime& runtime, const Caller& caller,
            const runtime::Pid& pid, runtime::Message message,
            runtime::RequestId message_id)
      : runtime_(&runtime),
        caller_(caller),
        pid_(pid),
        message_(std::move(message)),
        message_id_(std::move(message_id)) {}

  // Of a call that starts its process if it is absent.
  explicit ReplyWait(std::shared_ptr<StartOrCall> start)
      : start_(std::move(start)) {}

  void Start(WaitEnd<Response>* end);
  bool TakeBack() {
    return start_ == nullptr ? runtime_->CancelCall(id_) : start_->TakeBack();
  }

 private:
  runtime::Runtime* runtime_ = nullptr;
  std::optional<Caller> caller_;
  runtime::Pid pid_;
  runtime::Message message_;  // empty from Start on
  runtime::RequestId message_id_;
  runtime::Runtime::CallId id_ = 0;
  // Null: the call starts nothing. Otherwise used alone.
  std::shared_ptr<StartOrCall> start_;
};

}  // namespace actord::daemon
