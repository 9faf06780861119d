#include "daemon/calls/starts/start_or_call.h"

#include "daemon/access/request_trace.h"
#include "daemon/calls/proto_clients.h"
#include "daemon/operations/carry_out.h"
#include "daemon/plugins/near_type.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_responses.h"
#include "daemon/wire/status_mapping.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

void StartOrCall::Start(WaitEnd<v1::CallResponse>* end) {
  end_.emplace(end);
  Try();
}

void StartOrCall::Try() {
  ++attempts_;
  const CallTrace trace(order_.trace);
  const absl::StatusOr<runtime::Pid> holder =
      runtime_.FindName(order_.start.name, order_.start.owner);
  if (!holder.ok()) {
    runtime_.Submit(order_.start, [self = shared_from_this()](
                                      const absl::StatusOr<runtime::Pid>& pid) {
      self->Submitted(pid);
    });
    return;
  }
  const absl::Status allowed =
      CheckReceiver(runtime_, caller_.access(), *holder);
  if (allowed.ok()) {
    Call(*holder);
  } else {
    Answered(allowed, {});
  }
}

void StartOrCall::Submitted(const absl::StatusOr<runtime::Pid>& pid) {
  if (pid.ok()) {
    started_ = true;
    if (end_->IsOpen()) Call(*pid);
    return;
  }
  // Another call was faster.
  if (runtime::ReasonOf(pid.status()) == runtime::reason::kNameTaken &&
      MayTryAgain()) {
    return Try();
  }
  end_->Finish(Below("start_if_absent", NameNearest(pid.status(), catalog_)),
               {});
}

void StartOrCall::Call(const runtime::Pid& pid) {
  // The callback may be running, or have begun another attempt, when the
  // runtime returns.
  const std::shared_ptr<StartOrCall> self = shared_from_this();
  const int attempt = attempts_;
  const bool has_id = !order_.message_id.id.empty();
  const runtime::Owner by = caller_.access().sees();
  pid_ = pid;
  const CallTrace trace(order_.trace);
  runtime::Runtime::CallId id = 0;
  if (has_id) {
    id = runtime_.CallOnce(
        pid, order_.message, order_.message_id,
        [self](absl::StatusOr<runtime::CallReply> reply) {
          v1::CallResponse response;
          const absl::Status status = reply.status();
          if (status.ok()) WriteReply(*std::move(reply), &response);
          self->Answered(status, std::move(response));
        },
        by);
  } else {
    id = runtime_.Call(
        pid, order_.message,
        [self](absl::StatusOr<runtime::Payload> answer) {
          v1::CallResponse response;
          const absl::Status status = answer.status();
          if (status.ok()) {
            WriteReply({.pid = self->pid_, .result = *std::move(answer)},
                       &response);
          }
          self->Answered(status, std::move(response));
        },
        by,
        [self] {
          return self->end_->WhileOpen(
              [&self] { return OutsideCallerOf(self->caller_); });
        });
  }
  if (id == 0) return;
  if (!has_id) {
    // The process has the call: there is no other attempt. The wait may be
    // long. (A call with an id may still be refused.)
    order_.message = {};
    order_.start = {};
  }
  end_->Began([&runtime = runtime_, id] { runtime.CancelCall(id); }, attempt);
}

void StartOrCall::Answered(const absl::Status& status,
                           v1::CallResponse response) {
  // It has ended before it got the call.
  if (runtime::ReasonOf(status) == runtime::reason::kProcessEnded &&
      !started_ && MayTryAgain()) {
    return Try();
  }
  response.set_started(started_);
  end_->Finish(started_ ? WithPid(status, pid_) : status, response);
}

}  // namespace actord::daemon
