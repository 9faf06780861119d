#include "daemon/calls/waits.h"

#include "daemon/calls/proto_clients.h"
#include "daemon/wire/proto_responses.h"

namespace actord::daemon {

void OutcomeWait::Start(WaitEnd<Response>* end) {
  id_ = runtime_->Await(
      pid_,
      [this, end](absl::StatusOr<runtime::Outcome> outcome) {
        v1::AwaitResponse response;
        const absl::Status status = outcome.status();
        if (status.ok()) {
          WriteOutcome(pid_, *std::move(outcome), response.mutable_outcome());
          response.set_receipt(ReceiptOf(pid_));
        }
        end->Finish(status, response);
      },
      by_);
}

void ReplyWait::Start(WaitEnd<Response>* end) {
  if (start_ != nullptr) return start_->Start(end);
  const runtime::Owner by = caller_->access().sees();
  // Releases the payload before the wait, which may be long.
  const runtime::Message message = std::exchange(message_, {});
  if (!message_id_.id.empty()) {
    id_ = runtime_->CallOnce(
        pid_, message, message_id_,
        [end](absl::StatusOr<runtime::CallReply> answer) {
          v1::CallResponse response;
          const absl::Status status = answer.status();
          if (status.ok()) WriteReply(*std::move(answer), &response);
          end->Finish(status, response);
        },
        by);
    return;
  }
  id_ = runtime_->Call(
      pid_, message,
      [this, end](absl::StatusOr<runtime::Payload> answer) {
        v1::CallResponse response;
        const absl::Status status = answer.status();
        if (status.ok()) {
          WriteReply({.pid = pid_, .result = *std::move(answer)}, &response);
        }
        end->Finish(status, response);
      },
      by, [this] { return OutsideCallerOf(*caller_); });
}

}  // namespace actord::daemon
