#include "daemon/calls/starts/run_wait.h"

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "daemon/calls/starts/two_part_end.h"
#include "daemon/operations/carry_out.h"
#include "daemon/plugins/near_type.h"
#include "daemon/wire/proto_check.h"
#include "daemon/wire/proto_responses.h"
#include "daemon/wire/status_mapping.h"

namespace actord::daemon {

absl::Duration AnswerMargin(absl::Duration left) {
  return std::min(left / 10, absl::Milliseconds(100));
}

// One Run under way. The callbacks of the runtime share it; the alarm does not.
class RunWait::Run : public std::enable_shared_from_this<Run> {
 public:
  Run(const Parts& parts, runtime::Owner by, absl::Time deadline,
      WaitEnd<Response>* end)
      : parts_(parts), by_(by), deadline_(deadline), end_(end) {}

  void Submitted(const absl::StatusOr<runtime::Pid>& pid, bool duplicate,
                 bool delivered) {
    if (!pid.ok()) {
      end_.Finish(Below("submit", NameNearest(pid.status(), parts_.catalog)),
                  {});
      return;
    }
    if (!end_.IsOpen()) return;
    pid_ = *pid;
    end_.Started(runtime::FormatPid(pid_));
    WriteSubmitted(pid_, duplicate, delivered, response_.mutable_submitted());
    SetAlarm();
    const runtime::Runtime::AwaitId id = parts_.runtime.Await(
        pid_,
        [self = shared_from_this()](absl::StatusOr<runtime::Outcome> outcome) {
          self->Ended(std::move(outcome));
        },
        by_);
    end_.Began([&runtime = parts_.runtime, pid = pid_, id] {
      runtime.CancelAwait(pid, id);
    });
  }

  bool TakeBack() { return end_.TakeBack(); }

 private:
  void Ended(absl::StatusOr<runtime::Outcome> outcome) {
    const absl::Status status = outcome.status();
    if (status.ok()) {
      WriteOutcome(pid_, *std::move(outcome), response_.mutable_outcome());
      response_.set_receipt(ReceiptOf(pid_));
    }
    end_.Finish(WithPid(status, pid_), response_);
  }

  [[nodiscard]] absl::Status StillRunning() const {
    return WithPid(absl::DeadlineExceededError(absl::StrCat(
                       "process ", runtime::FormatPid(pid_),
                       " has not ended within the deadline of the call; it "
                       "goes on, and Await waits for its end")),
                   pid_);
  }

  void SetAlarm() {
    if (deadline_ == absl::InfiniteFuture()) return;
    const absl::Duration left =
        deadline_ -
        absl::FromUnixNanos(static_cast<int64_t>(parts_.clock.UnixNs()));
    const absl::Duration wait = left - AnswerMargin(left);
    // The alarm keeps its function for as long as it lives itself, so the
    // function must not keep the alarm.
    alarm_.Set(gpr_time_from_nanos(
                   absl::ToInt64Nanoseconds(std::max(wait, absl::Duration())),
                   GPR_TIMESPAN),
               [weak = weak_from_this()](bool /*is_due*/) {
                 if (const std::shared_ptr<Run> self = weak.lock()) {
                   self->end_.Stop(self->StillRunning());
                 }
               });
  }

  const Parts parts_;
  const runtime::Owner by_;
  const absl::Time deadline_;
  TwoPartEnd<Response> end_;
  // Written before the alarm is set and the wait for the process begins.
  runtime::Pid pid_;
  Response response_;
  grpc::Alarm alarm_;
};

void RunWait::Start(WaitEnd<Response>* end) {
  run_ = std::make_shared<Run>(parts_, access_.sees(), deadline_, end);
  CarryOutSubmit(parts_.runtime, access_, parts_.request_ids, &submit_,
                 [run = run_](const absl::StatusOr<runtime::Pid>& pid,
                              bool duplicate, bool delivered) {
                   run->Submitted(pid, duplicate, delivered);
                 });
}

bool RunWait::TakeBack() { return run_->TakeBack(); }

}  // namespace actord::daemon
