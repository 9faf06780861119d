// One call of the JSON API, from the request to the answer. A CallForm reads
// the request and writes the answer. It may start a second call.
//
// The thread of the API begins the call and writes its answer. The handler of
// the method may finish it on any thread; then the message is only put into
// bytes there, as for gRPC.
//
// Thread-safety: see each function. Ownership: a call keeps itself until its
// handler has finished it or its wait was taken back, also if the client has
// been answered before.
#pragma once

#include <google/protobuf/descriptor.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "daemon/admin/admin_calls.h"
#include "daemon/admin/admin_request.h"
#include "daemon/api/call_form.h"
#include "daemon/api/call_thread.h"
#include "daemon/api/open_calls.h"
#include "daemon/calls/direct_call.h"
#include "daemon/calls/routed_service.h"

namespace actord::daemon {

// The parts of a request that the gate uses.
HttpSource SourceOf(const AdminRequest& request);

class JsonCall final : public DirectCall,
                       public AdminCall,
                       public std::enable_shared_from_this<JsonCall> {
 public:
  struct Order {
    FormedCall call;
    HttpSource source;
    std::string body;
    absl::Duration patience;
    OpenCalls::Place place;
    AdminCalls::Done done;
  };
  JsonCall(std::shared_ptr<CallThread> thread, Order order);

  // Begins the call on its thread. Borrows the service, which must live until
  // the thread has stopped. Any thread; once.
  void Begin(const RoutedService& service);

  // AdminCall; any thread.
  void End(Why why) override;
  [[nodiscard]] std::chrono::milliseconds patience() const override {
    return absl::ToChronoMilliseconds(patience_);
  }

  // DirectCall; Finish from any thread.
  [[nodiscard]] const HttpSource& source() const override { return source_; }
  [[nodiscard]] size_t request_bytes() const override { return body_.size(); }
  absl::Status ReadRequest(google::protobuf::Message* request) override;
  void Finish(const absl::Status& status,
              const google::protobuf::Message* response) override;
  void SetWait(std::shared_ptr<DirectWait> wait) override {
    wait_ = std::move(wait);
  }

 private:
  // These run on the thread of the API.
  void BeginNow();
  void EndNow(Why why);
  // The handler has finished the call.
  void Finished(const absl::Status& status, const std::string& bytes);
  // Sends the head of an event stream, if the call waits.
  void OpenEvents();
  // True: another call has begun in place of the answer.
  bool BeginNext(const std::string& bytes);
  void Answer(AdminAnswer answer);

  const std::shared_ptr<CallThread> thread_;
  const HttpSource source_;
  const absl::Duration patience_;
  // For the thread of the API alone.
  const RoutedService* service_ = nullptr;
  FormedCall call_;
  bool is_late_ = false;  // the client's patience has ended
  bool is_open_ = false;  // the head of an event stream has been sent
  // Until the handler has finished the call, or its wait was taken back. It is
  // given back before the client is answered, so the client finds room.
  std::optional<OpenCalls::Place> place_;
  std::string body_;       // empty once it has been read
  AdminCalls::Done done_;  // null: the client has been answered
  std::shared_ptr<DirectWait> wait_;
  // From Begin to Finish, or until the wait is taken back. Only one of the two
  // happens, and both come after Begin.
  std::shared_ptr<JsonCall> self_;
};

}  // namespace actord::daemon
