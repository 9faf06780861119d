#include "daemon/api/json_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/api/connect_error.h"
#include "daemon/api/json_text.h"

namespace actord::daemon {

HttpSource SourceOf(const AdminRequest& request, absl::Time deadline) {
  HttpSource source;
  source.peer = request.peer;
  source.is_local_user = request.is_local_user;
  source.authorization = request.HeadersOf("authorization");
  source.traceparent = request.HeadersOf("traceparent");
  source.deadline = deadline;
  return source;
}

JsonCall::JsonCall(std::shared_ptr<CallThread> thread, Order order)
    : thread_(std::move(thread)),
      method_(*order.method),
      source_(SourceOf(order.request, order.deadline)),
      patience_(order.patience),
      place_(std::move(order.place)),
      body_(std::move(order.request.body)),
      done_(std::move(order.done)) {}

void JsonCall::Begin(const RoutedService& service) {
  thread_->Post([self = shared_from_this(), &service] {
    // The client may have gone before its turn.
    if (self->done_ == nullptr) return;
    self->self_ = self;
    service.BeginDirect(self->method_, *self);
  });
}

void JsonCall::End(Why why) {
  thread_->Post([self = shared_from_this(), why] { self->EndNow(why); });
}

absl::Status JsonCall::ReadRequest(google::protobuf::Message* request) {
  return ReadJson(std::exchange(body_, {}), request);
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
                bytes = std::move(bytes)] {
    self->place_.reset();
    self->Answer(result, bytes);
  });
}

void JsonCall::EndNow(Why why) {
  if (done_ == nullptr) return;
  if (wait_ != nullptr && wait_->TakeBack()) {
    place_.reset();
    self_.reset();
  }
  Answer(why == Why::kDeadline ? absl::DeadlineExceededError(absl::StrCat(
                                     method_.name(), " was not answered in ",
                                     absl::FormatDuration(patience_)))
                               : absl::CancelledError("the client has gone"),
         {});
}

void JsonCall::Answer(const absl::Status& status, const std::string& bytes) {
  // Null: a deadline came before.
  const AdminCalls::Done done = std::exchange(done_, nullptr);
  if (done == nullptr) return;
  wait_.reset();
  AdminAnswer answer;
  absl::Status written = status;
  if (written.ok()) {
    answer.content_type = "application/json";
    written =
        WriteJson(method_.output_type()->full_name(), bytes, &answer.body);
  }
  done(written.ok() ? std::move(answer) : ConnectError(written));
}

}  // namespace actord::daemon
