#include "daemon/api/event_call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "actord/v1/history.pb.h"
#include "actord/v1/topic.pb.h"
#include "actord/v1/watch.pb.h"
#include "daemon/api/connect_error.h"
#include "daemon/api/http_fields.h"
#include "daemon/api/json_text.h"
#include "daemon/wire/rpc_message.h"

namespace actord::daemon {
namespace {

const char* NameOf(const v1::WatchProcessesResponse& response) {
  switch (response.update_case()) {
    case v1::WatchProcessesResponse::kSnapshot:
      return "snapshot";
    case v1::WatchProcessesResponse::kEvents:
      return "events";
    case v1::WatchProcessesResponse::kMissed:
      return "missed";
    case v1::WatchProcessesResponse::UPDATE_NOT_SET:
      break;
  }
  return "resume";
}

// An event of one name, without an id. Empty: the response cannot be written,
// which does not happen.
template <typename Response>
std::string PlainEventOf(const char* name, const grpc::ByteBuffer& bytes) {
  Response response;
  std::string data;
  if (!ReadMessage(bytes, &response).ok() ||
      !WriteJson(response.GetDescriptor()->full_name(),
                 response.SerializeAsString(), &data)
           .ok()) {
    return "";
  }
  return absl::StrCat("event: ", name, "\ndata: ", data, "\n\n");
}

// The same, for a watch.
std::string WatchEventOf(const grpc::ByteBuffer& bytes) {
  v1::WatchProcessesResponse response;
  std::string data;
  if (!ReadMessage(bytes, &response).ok() ||
      !WriteJson(response.GetDescriptor()->full_name(),
                 response.SerializeAsString(), &data)
           .ok()) {
    return "";
  }
  return absl::StrCat("id: ", response.resume_token(),
                      "\nevent: ", NameOf(response), "\ndata: ", data, "\n\n");
}

std::string EventOf(const google::protobuf::Descriptor& type,
                    const grpc::ByteBuffer& bytes) {
  if (&type == v1::ReadHistoryResponse::descriptor()) {
    return PlainEventOf<v1::ReadHistoryResponse>("entries", bytes);
  }
  if (&type == v1::SubscribeResponse::descriptor()) {
    return PlainEventOf<v1::SubscribeResponse>("publications", bytes);
  }
  return WatchEventOf(bytes);
}

}  // namespace

EventCall::EventCall(std::shared_ptr<CallThread> thread, Order order)
    : thread_(std::move(thread)), order_(std::move(order)) {}

void EventCall::Begin(const RoutedService& service) {
  thread_->Post([self = shared_from_this(), &service] {
    if (self->order_.done == nullptr) return;
    self->order_.begun(self);
    service.BeginDirect(*self->order_.method, *self);
  });
}

absl::Status EventCall::ReadRequest(google::protobuf::Message* request) {
  return ReadJson(order_.body, request);
}

void EventCall::Refuse(const absl::Status& status) {
  EndNow(ConnectError(status));
}

void EventCall::Write(const grpc::ByteBuffer& bytes) {
  const std::shared_ptr<CallThread> thread = thread_;
  thread->Post([self = shared_from_this(), bytes] { self->Send(bytes); });
}

void EventCall::Finish(const grpc::Status& status) {
  const std::shared_ptr<CallThread> thread = thread_;
  thread->Post([self = shared_from_this(), status] {
    self->EndNow(status.ok() ? AdminAnswer() : ConnectError(status));
  });
}

void EventCall::Written() {
  thread_->Post([self = shared_from_this()] {
    if (self->stream_ != nullptr && std::exchange(self->writes_, false)) {
      self->stream_->SinkWritten(true);
    }
  });
}

void EventCall::End(Why why) {
  thread_->Post([self = shared_from_this(), why] {
    // The first event has come before the deadline took its turn.
    if (why == Why::kDeadline && self->has_begun_) return;
    if (why == Why::kDeadline && self->order_.done) {
      self->order_.done(ConnectError(
          absl::DeadlineExceededError("the stream has sent no event")));
    }
    self->ClientGone();
  });
}

void EventCall::Send(const grpc::ByteBuffer& bytes) {
  if (order_.done == nullptr) return stream_->SinkWritten(false);
  AdminAnswer part;
  part.part = std::exchange(has_begun_, true) ? AdminAnswer::Part::kNext
                                              : AdminAnswer::Part::kFirst;
  part.content_type = kEventStream;
  part.body = EventOf(*order_.method->output_type(), bytes);
  writes_ = true;
  order_.done(std::move(part));
}

void EventCall::ClientGone() {
  order_.done = nullptr;
  if (stream_ == nullptr) return;
  stream_->SinkGone();
  if (std::exchange(writes_, false)) stream_->SinkWritten(false);
}

void EventCall::EndNow(AdminAnswer answer) {
  const AdminCalls::Done done = std::exchange(order_.done, nullptr);
  if (done != nullptr) {
    if (has_begun_) {
      answer.part = AdminAnswer::Part::kLast;
      answer.body = absl::StrCat(
          "event: end\ndata: ", answer.body.empty() ? "{}" : answer.body,
          "\n\n");
    }
    done(std::move(answer));
  }
  if (stream_ != nullptr) std::exchange(stream_, nullptr)->SinkDone();
  order_.ended(this);
}

void EventCall::Abandon() {
  order_.done = nullptr;
  if (stream_ == nullptr) return;
  stream_->SinkGone();
  // A write that has not reached the thread; without one it does nothing.
  stream_->SinkWritten(false);
  std::exchange(stream_, nullptr)->SinkDone();
}

}  // namespace actord::daemon
