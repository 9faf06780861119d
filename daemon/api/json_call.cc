#include "daemon/api/json_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/api/connect_error.h"
#include "daemon/api/http_fields.h"

namespace actord::daemon {

HttpSource SourceOf(const AdminRequest& request) {
  HttpSource source;
  source.peer = request.peer;
  source.is_local_user = request.is_local_user;
  source.connection = request.connection;
  source.authorization = request.HeadersOf("authorization");
  source.traceparent = request.HeadersOf("traceparent");
  source.tracestate = request.HeadersOf("tracestate");
  return source;
}

JsonCall::JsonCall(std::shared_ptr<CallThread> thread, Order order)
    : thread_(std::move(thread)),
      source_(std::move(order.source)),
      patience_(order.patience),
      call_(std::move(order.call)),
      place_(std::move(order.place)),
      body_(std::move(order.body)),
      done_(std::move(order.done)) {}

void JsonCall::Begin(const RoutedService& service) {
  thread_->Post([self = shared_from_this(), &service] {
    // The client may have gone before its turn.
    if (self->done_ == nullptr) return;
    self->service_ = &service;
    self->BeginNow();
  });
}

void JsonCall::BeginNow() {
  self_ = shared_from_this();
  const bool is_event_stream = call_.form->is_event_stream();
  service_->BeginDirect(*call_.method, *this);
  if (!is_event_stream) return;
  // A call that has been refused at once is answered first.
  thread_->Post([self = shared_from_this()] { self->OpenEvents(); });
}

void JsonCall::OpenEvents() {
  if (done_ == nullptr || wait_ == nullptr) return;
  is_open_ = true;
  AdminAnswer head;
  head.part = AdminAnswer::Part::kFirst;
  head.content_type = kEventStream;
  done_(std::move(head));
}

void JsonCall::End(Why why) {
  thread_->Post([self = shared_from_this(), why] { self->EndNow(why); });
}

absl::Status JsonCall::ReadRequest(google::protobuf::Message* request) {
  return call_.form->Read(std::exchange(body_, {}), request);
}

void JsonCall::Finish(const absl::Status& status,
                      const google::protobuf::Message* response) {
  std::string bytes;
  absl::Status result = status;
  if (result.ok() && !response->SerializeToString(&bytes)) {
    result = absl::InternalError("the answer is larger than 2 GiB");
  }
  std::shared_ptr<JsonCall> self = std::move(self_);
  // The call may be gone while its post wakes the thread.
  const std::shared_ptr<CallThread> thread = thread_;
  thread->Post([self = std::move(self), result = std::move(result),
                bytes = std::move(bytes)] { self->Finished(result, bytes); });
}

void JsonCall::Finished(const absl::Status& status, const std::string& bytes) {
  wait_.reset();
  if (status.ok() && BeginNext(bytes)) return;
  place_.reset();
  call_.form->Finished(status, bytes);
  // Null: a deadline came before, or the client has gone.
  if (done_ == nullptr) return;
  if (!status.ok()) return Answer(call_.form->Refuse(status));
  absl::StatusOr<AdminAnswer> answer = call_.form->Write(bytes);
  Answer(answer.ok() ? *std::move(answer) : ConnectError(answer.status()));
}

bool JsonCall::BeginNext(const std::string& bytes) {
  if (done_ == nullptr || is_late_) return false;
  FormedCall next = call_.form->Next(bytes);
  if (next.method == nullptr) return false;
  call_ = std::move(next);
  BeginNow();
  return true;
}

void JsonCall::EndNow(Why why) {
  if (done_ == nullptr) return;
  const std::shared_ptr<DirectWait> wait = std::exchange(wait_, nullptr);
  const bool is_taken = wait != nullptr && wait->TakeBack();
  if (is_taken) {
    place_.reset();
    self_.reset();
  }
  if (why == Why::kDeadline && call_.form->may_be_late()) {
    is_late_ = true;
    // Otherwise the call has been finished, or cannot be stopped.
    if (is_taken) Answer(call_.form->Late());
    return;
  }
  Answer(ConnectError(why == Why::kDeadline
                          ? absl::DeadlineExceededError(absl::StrCat(
                                call_.method->name(), " was not answered in ",
                                absl::FormatDuration(patience_)))
                          : absl::CancelledError("the client has gone")));
}

void JsonCall::Answer(AdminAnswer answer) {
  const AdminCalls::Done done = std::exchange(done_, nullptr);
  if (is_open_) {
    answer.part = AdminAnswer::Part::kLast;
    if (answer.content_type != kEventStream) {
      answer.body = absl::StrCat("event: end\ndata: ", answer.body, "\n\n");
    }
  }
  done(std::move(answer));
}

}  // namespace actord::daemon
