// One open event stream: WatchProcesses, ReadHistory or Subscribe as
// server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html).
//
// Each response of a watch is one event. Its name is the kind of the response
// (snapshot, events, missed, resume), its data the response as JSON, and its id
// the resume token. Each response of a history is an event "entries" without an
// id, and each response of a subscription an event "publications". The last
// event is "end", with the error that ended the stream.
//
// Bounds: as for gRPC the watch makes a response when the last one was written,
// so a slow client costs one response, and learns how many events it has
// missed.
//
// Thread-safety: Write, Finish, End and Written from any thread; the rest is
// for the thread of the API. Ownership: the call keeps itself until its stream
// has ended, or until Abandon.
#pragma once

#include <google/protobuf/descriptor.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "daemon/admin/admin_calls.h"
#include "daemon/admin/admin_request.h"
#include "daemon/api/call_thread.h"
#include "daemon/api/open_calls.h"
#include "daemon/calls/direct_call.h"
#include "daemon/calls/routed_service.h"

namespace actord::daemon {

class EventCall final : public DirectStream,
                        public AdminCall,
                        public std::enable_shared_from_this<EventCall> {
 public:
  struct Order {
    const google::protobuf::MethodDescriptor* method = nullptr;
    HttpSource source;
    std::string body;  // the request as JSON
    OpenCalls::Place place;
    AdminCalls::Done done;
    // Called on the thread of the API when the call begins and when it ends.
    std::function<void(std::shared_ptr<EventCall>)> begun;
    std::function<void(EventCall*)> ended;
  };
  EventCall(std::shared_ptr<CallThread> thread, Order order);

  // Begins the call on its thread. Borrows the service, as JsonCall does.
  void Begin(const RoutedService& service);
  // Ends a call whose thread has stopped. The call may be gone afterwards.
  void Abandon();

  // AdminCall.
  void End(Why why) override;
  void Written() override;
  [[nodiscard]] std::chrono::milliseconds patience() const override {
    return std::chrono::minutes(1);  // for the first event
  }

  // DirectStream.
  [[nodiscard]] const HttpSource& source() const override {
    return order_.source;
  }
  [[nodiscard]] size_t request_bytes() const override {
    return order_.body.size();
  }
  absl::Status ReadRequest(google::protobuf::Message* request) override;
  void Opened(std::shared_ptr<WriteStream> stream) override {
    stream_ = std::move(stream);
  }
  void Refuse(const absl::Status& status) override;
  void Write(const grpc::ByteBuffer& bytes) override;
  void Finish(const grpc::Status& status) override;

 private:
  void Send(const grpc::ByteBuffer& bytes);
  void ClientGone();
  // `answer`: the error.
  void EndNow(AdminAnswer answer);

  const std::shared_ptr<CallThread> thread_;
  Order order_;  // `done` null: the client has gone, or has the end
  std::shared_ptr<WriteStream> stream_;  // null: not opened, or ended
  bool has_begun_ = false;               // the first part has been sent
  bool writes_ = false;                  // a part is being written
};

}  // namespace actord::daemon
