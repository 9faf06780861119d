#include "daemon/streams/work_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/operations/carry_out.h"
#include "daemon/wire/proto_responses.h"
#include "daemon/wire/proto_work.h"
#include "daemon/wire/rpc_message.h"
#include "daemon/wire/status_mapping.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

void WorkStream::Wake() { Continue(); }

void WorkStream::OnClosing(const absl::Status& status) { EndLocked(status); }

void WorkStream::OnEnded() {
  if (worker_ != 0) runtime_.remote_tasks().Close(worker_);
}

// Reading.

bool WorkStream::WantsMessage() { return out_empty_; }

void WorkStream::OnMessage(const grpc::ByteBuffer& bytes) {
  v1::WorkRequest request;
  absl::Status status = ReadMessage(bytes, &request);
  if (status.ok()) {
    const Access access = this->access();
    const absl::MutexLock lock(&mutex_);
    // If the stream has ended in the meantime, the worker is gone.
    if (!ended()) status = Handle(access, request);
  }
  Handled(status);
}

absl::Status WorkStream::Subscribe(const Access& access,
                                   const v1::Subscribe& subscribe) {
  runtime::RemoteTasks& work = runtime_.remote_tasks();
  absl::Status status = CheckSubscribe(subscribe, work);
  for (const std::string& command : subscribe.commands()) {
    if (status.ok()) status = access.MayWork(command);
  }
  if (!status.ok()) return status;
  worker_ =
      work.Open({subscribe.commands().begin(), subscribe.commands().end()},
                subscribe.worker(), access.owner(),
                std::static_pointer_cast<WorkStream>(shared_from_this()));
  v1::Subscribed& subscribed = *out_.mutable_subscribed();
  subscribed.set_max_tasks(runtime::RemoteTasks::kMaxTasks);
  subscribed.set_max_payload_bytes(runtime_.limits().max_payload_bytes());
  out_empty_ = false;
  return absl::OkStatus();
}

absl::Status WorkStream::Handle(const Access& access,
                                v1::WorkRequest& request) {
  runtime::RemoteTasks& work = runtime_.remote_tasks();
  absl::Status status = CheckWorkRequest(request, /*is_first=*/worker_ == 0);
  if (status.ok() && worker_ == 0) {
    status = Subscribe(access, request.subscribe());
  }
  if (!status.ok()) return status;
  work.Heard(worker_);
  if (!work.AddCredits(worker_, request.add_credits())) {
    return runtime::InvalidField(
        "add_credits", runtime::reason::kInvalidField,
        absl::StrCat("add_credits is ", request.add_credits(),
                     "; credits and tasks held would be more than ",
                     runtime::RemoteTasks::kMaxTasks));
  }
  for (v1::CompleteYieldRequest& completion : *request.mutable_completions()) {
    const std::string token = completion.token();
    const auto read = ReadCompleteYield(
        &completion, runtime::PayloadLimit(runtime_.limits()));
    const absl::StatusOr<runtime::CompleteAnswer> answer =
        read.ok() ? CarryOutCompletion(runtime_, access, *read) : read.status();
    v1::TaskAnswer& proto =
        Answer(v1::TaskAnswer::KIND_COMPLETION, token, answer);
    if (answer.ok())
      proto.set_receipt(ReceiptOf(read->token.yield.pid, *answer));
  }
  for (const v1::TaskFailure& failure : request.failures()) {
    const auto read = ReadTaskFailure(failure);
    Answer(v1::TaskAnswer::KIND_FAILURE, failure.token(),
           AnswerUnlessRefused(access, read, [&] {
             return work.Fail(read->token, read->failure);
           }));
  }
  for (v1::TaskHeartbeat& heartbeat : *request.mutable_heartbeats()) {
    auto read = ReadTaskHeartbeat(&heartbeat);
    Answer(v1::TaskAnswer::KIND_HEARTBEAT, heartbeat.token(),
           AnswerUnlessRefused(access, read, [&] {
             return work.Heartbeat(read->token, std::move(read->progress));
           }));
  }
  if (request.stop()) work.StopTasks(worker_);
  return absl::OkStatus();
}

v1::TaskAnswer& WorkStream::Answer(
    v1::TaskAnswer::Kind kind, const std::string& token,
    const absl::StatusOr<runtime::CompleteAnswer>& answer) {
  v1::TaskAnswer& proto = *out_.add_answers();
  out_empty_ = false;
  proto.set_kind(kind);
  proto.set_token(token);
  if (answer.ok()) {
    proto.set_answer(ToProto(*answer));
  } else {
    WriteRefusal(answer.status(), proto.mutable_refusal());
  }
  return proto;
}

// Writing.

bool WorkStream::TakeOutput() {
  if (worker_ == 0 || writing_ == Writing::kWaitsForDisk) return false;
  if (writing_ == Writing::kIsDurable) {
    writing_ = Writing::kIsFree;
    return true;
  }
  if (!FillOutput()) return false;
  // The worker gets an attempt, and the results of its answers, only when the
  // journal has them.
  const uint64_t position = runtime_.LastPosition();
  if (position == 0) return true;
  writing_ = Writing::kWaitsForDisk;
  runtime_.WhenDurable(
      position, [stream = std::static_pointer_cast<WorkStream>(
                     shared_from_this())] { stream->OutputIsDurable(); });
  return false;
}

void WorkStream::OutputIsDurable() {
  {
    const absl::MutexLock lock(&mutex_);
    writing_ = Writing::kIsDurable;
  }
  Continue();
}

bool WorkStream::FillOutput() {
  outgoing_.Clear();
  outgoing_.Swap(&out_);
  const bool busy = !std::exchange(out_empty_, true);
  runtime::TaskBatch batch = runtime_.remote_tasks().Take(worker_, busy, {});
  if (!busy && batch.empty()) return false;
  for (runtime::TaskAttempt& task : batch.tasks) {
    WriteTask(std::move(task), outgoing_.add_tasks());
  }
  for (const runtime::TaskCancel& cancel : batch.cancels) {
    WriteTaskCancel(cancel, outgoing_.add_cancels());
  }
  return true;
}

absl::Status WorkStream::WriteOutput(grpc::ByteBuffer* bytes) {
  absl::Status status = WriteMessage(outgoing_, bytes);
  // An idle stream holds no payloads.
  outgoing_ = {};
  return status;
}

}  // namespace actord::daemon
