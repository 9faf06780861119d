#include "daemon/work_stream.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/proto_responses.h"
#include "daemon/proto_work.h"
#include "daemon/rpc_message.h"
#include "daemon/status_mapping.h"
#include "runtime/errors.h"

namespace actord::daemon {

// --- all of them
// --------------------------------------------------------------

void WorkStreams::Add(const std::shared_ptr<WorkStream>& stream) {
  absl::Status ended;
  {
    const absl::MutexLock lock(&mutex_);
    open_.emplace(stream.get(), stream);
    ended = ended_;
  }
  if (!ended.ok()) stream->End(ended);
}

void WorkStreams::Remove(WorkStream* stream) {
  // Destroyed without the lock.
  std::shared_ptr<WorkStream> last;
  const absl::MutexLock lock(&mutex_);
  const auto it = open_.find(stream);
  last = std::move(it->second);
  open_.erase(it);
}

void WorkStreams::EndAll(const absl::Status& status) {
  std::vector<std::shared_ptr<WorkStream>> open;
  {
    const absl::MutexLock lock(&mutex_);
    ended_ = status;
    for (const auto& [key, stream] : open_) open.push_back(stream);
  }
  for (const auto& stream : open) stream->End(status);
}

// --- one
// ----------------------------------------------------------------------

WorkStream* WorkStream::Begin(runtime::Runtime& runtime, WorkStreams& streams) {
  const auto stream = std::make_shared<WorkStream>(runtime, streams);
  {
    const absl::MutexLock lock(&stream->mutex_);
    stream->ReadOn();
  }
  streams.Add(stream);
  return stream.get();
}

void WorkStream::Wake() {
  const absl::MutexLock lock(&mutex_);
  WriteOn();
}

void WorkStream::End(const absl::Status& status) {
  const absl::MutexLock lock(&mutex_);
  EndLocked(status);
}

void WorkStream::EndLocked(const absl::Status& status) {
  if (ended_) return;
  ended_ = true;
  end_ = status;
  if (worker_ != 0) runtime_.work().Close(worker_);
  // Otherwise when the write is done.
  if (!writing_) Finish(ToGrpcStatus(end_));
}

void WorkStream::OnCancel() {
  End(absl::CancelledError("the worker has gone"));
}

void WorkStream::OnDone() { streams_.Remove(this); }

absl::StatusOr<runtime::CompleteAnswer> CompleteTask(
    runtime::Runtime& runtime, const Completion& completion) {
  const runtime::CompleteAnswer answer =
      runtime.work().Complete(completion.token, completion.result);
  if (answer != runtime::CompleteAnswer::kMailboxFull) return answer;
  return runtime::Retryable(
      absl::StatusCode::kResourceExhausted, runtime::reason::kMailboxFull,
      absl::StrCat("process ", runtime::FormatPid(completion.token.yield.pid),
                   " has not taken earlier completions yet: its limit for "
                   "them is ",
                   runtime.limits().max_mailbox_bytes(), " bytes"),
      absl::Milliseconds(100));
}

// --- reading
// ------------------------------------------------------------------

void WorkStream::ReadOn() {
  if (ended_ || reading_ || !out_empty_) return;
  reading_ = true;
  StartRead(&in_bytes_);
}

void WorkStream::OnReadDone(bool ok) {
  const absl::MutexLock lock(&mutex_);
  reading_ = false;
  if (ended_) return;
  // The worker has said all that it had to say, or its connection broke.
  if (!ok) return EndLocked(absl::OkStatus());
  v1::WorkRequest request;
  absl::Status status = ReadMessage(in_bytes_, &request);
  in_bytes_.Clear();
  if (status.ok()) status = Handle(request);
  if (!status.ok()) return EndLocked(status);
  WriteOn();
  ReadOn();
}

absl::Status WorkStream::Subscribe(const v1::Subscribe& subscribe) {
  runtime::RemoteWork& work = runtime_.work();
  absl::Status status = CheckSubscribe(subscribe, work);
  if (!status.ok()) return status;
  worker_ =
      work.Open({subscribe.commands().begin(), subscribe.commands().end()},
                subscribe.worker(), shared_from_this());
  v1::Subscribed& subscribed = *out_.mutable_subscribed();
  subscribed.set_max_tasks(runtime::RemoteWork::kMaxTasks);
  subscribed.set_max_payload_bytes(runtime_.limits().max_payload_bytes());
  out_empty_ = false;
  return absl::OkStatus();
}

absl::Status WorkStream::Handle(v1::WorkRequest& request) {
  runtime::RemoteWork& work = runtime_.work();
  absl::Status status = CheckWorkRequest(request, /*is_first=*/worker_ == 0);
  if (status.ok() && worker_ == 0) status = Subscribe(request.subscribe());
  if (!status.ok()) return status;
  work.Heard(worker_);
  if (!work.AddCredits(worker_, request.add_credits())) {
    return runtime::InvalidField(
        "add_credits", runtime::reason::kInvalidField,
        absl::StrCat("add_credits is ", request.add_credits(),
                     "; credits and tasks held would be more than ",
                     runtime::RemoteWork::kMaxTasks));
  }
  for (v1::CompleteYieldRequest& completion : *request.mutable_completions()) {
    const std::string token = completion.token();
    const auto read =
        ReadCompleteYield(&completion, runtime_.limits().max_payload_bytes());
    Answer(v1::TaskAnswer::KIND_COMPLETION, token,
           read.ok() ? CompleteTask(runtime_, *read) : read.status());
  }
  for (const v1::TaskFailure& failure : request.failures()) {
    const auto read = ReadTaskFailure(failure);
    Answer(v1::TaskAnswer::KIND_FAILURE, failure.token(),
           read.ok() ? absl::StatusOr<runtime::CompleteAnswer>(
                           work.Fail(read->token, read->failure))
                     : read.status());
  }
  for (v1::TaskHeartbeat& heartbeat : *request.mutable_heartbeats()) {
    auto read = ReadTaskHeartbeat(&heartbeat);
    Answer(v1::TaskAnswer::KIND_HEARTBEAT, heartbeat.token(),
           read.ok() ? absl::StatusOr<runtime::CompleteAnswer>(work.Heartbeat(
                           read->token, std::move(read->progress)))
                     : read.status());
  }
  if (request.stop()) work.StopTasks(worker_);
  return absl::OkStatus();
}

void WorkStream::Answer(v1::TaskAnswer::Kind kind, const std::string& token,
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
}

// --- writing
// ------------------------------------------------------------------

void WorkStream::WriteOn() {
  if (ended_ || writing_ || worker_ == 0) return;
  v1::WorkResponse response;
  response.Swap(&out_);
  const bool busy = !std::exchange(out_empty_, true);
  runtime::WorkBatch batch = runtime_.work().Take(worker_, busy, {});
  if (!busy && batch.empty()) return;
  for (runtime::WorkTask& task : batch.tasks) {
    WriteTask(std::move(task), response.add_tasks());
  }
  for (const runtime::TaskCancel& cancel : batch.cancels) {
    WriteTaskCancel(cancel, response.add_cancels());
  }
  const absl::Status status = WriteMessage(response, &out_bytes_);
  if (!status.ok()) return EndLocked(status);
  writing_ = true;
  StartWrite(&out_bytes_);
}

void WorkStream::OnWriteDone(bool ok) {
  const absl::MutexLock lock(&mutex_);
  writing_ = false;
  out_bytes_.Clear();
  if (ended_) {
    Finish(ToGrpcStatus(end_));
    return;
  }
  if (!ok) return EndLocked(absl::CancelledError("the worker has gone"));
  WriteOn();
  ReadOn();
}

}  // namespace actord::daemon
