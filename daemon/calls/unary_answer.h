// The answers of unary calls: UnaryAnswer for a handler that answers later, and
// WaitingCall for a client of gRPC that may stop waiting.
//
// Thread-safety: any thread.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "daemon/access/access.h"
#include "daemon/calls/direct_call.h"
#include "daemon/calls/wait_end.h"
#include "daemon/operations/unread_answers.h"
#include "daemon/spans/spans.h"
#include "daemon/wire/rpc_message.h"
#include "daemon/wire/status_mapping.h"

namespace actord::daemon {

// The parts of a call that its answer needs. Ownership: owns the span, and
// borrows everything else; `context` and `out` live until the reactor's OnDone.
struct AnswerPlace {
  grpc::CallbackServerContext& context;
  UnreadAnswers& unread;
  grpc::ByteBuffer* out;
  std::unique_ptr<CallSpan> span;  // null: the call has none
};

// Ends the call with `status`, and with `response` if `status` is OK. To be
// called exactly once for each call. Afterwards `reactor` may be gone.
template <typename Response>
void FinishCall(const absl::Status& status, const Response& response,
                AnswerPlace& place, grpc::ServerUnaryReactor* reactor) {
  absl::Status written =
      status.ok() ? WriteMessage(response, place.out) : status;
  if (written.ok()) written = place.unread.Count(place.context, place.out);
  // The place may be gone after Finish.
  if (place.span != nullptr) place.span->End(written);
  reactor->Finish(ToGrpcStatus(written));
}

// The end of a call of gRPC with a span. Owns itself until Finish.
class SpannedEnd final : public CallEnd {
 public:
  SpannedEnd(AnswerPlace place, grpc::ServerUnaryReactor* reactor)
      : place_(std::move(place)), reactor_(reactor) {}

  void Finish(const absl::Status& status,
              const google::protobuf::Message* response) override {
    const absl::Status written =
        status.ok() ? WriteMessage(*response, place_.out) : status;
    place_.span->End(written);
    reactor_->Finish(ToGrpcStatus(written));
    delete this;
  }

 private:
  AnswerPlace place_;
  grpc::ServerUnaryReactor* const reactor_;
};

// A handle for the answer of a call. The handler must call Finish on one copy
// exactly once, also if the client has gone: gRPC drops that answer. The handle
// takes two words, so that a callback with a copy needs no allocation. So it
// does not know the UnreadAnswers, and is for methods whose answers are small.
template <typename Response>
class UnaryAnswer {
 public:
  UnaryAnswer(grpc::ByteBuffer* out, grpc::ServerUnaryReactor* reactor)
      : out_(out), reactor_(reactor) {}
  explicit UnaryAnswer(CallEnd& end) : out_(nullptr), end_(&end) {}

  void Finish(const absl::Status& status, const Response& response) const {
    if (out_ == nullptr) {
      return end_->Finish(status, status.ok() ? &response : nullptr);
    }
    reactor_->Finish(
        ToGrpcStatus(status.ok() ? WriteMessage(response, out_) : status));
  }

 private:
  grpc::ByteBuffer* out_;  // null: the answer goes to end_
  union {
    grpc::ServerUnaryReactor* reactor_;
    CallEnd* end_;
  };
};

// A call whose client may stop waiting for the result of `Wait` (waits.h). The
// call owns itself: gRPC calls OnDone when the call is finished and no function
// of the reactor is running or will be.
//
// Either the runtime's callback finishes the call through Finish, or OnCancel
// takes the callback back and finishes the call. TakeBack decides between them.
template <typename Wait>
class WaitingCall final : private grpc::ServerUnaryReactor,
                          private WaitEnd<typename Wait::Response> {
 public:
  using Response = typename Wait::Response;

  // Begins to wait, and returns the reactor for gRPC. OnCancel and OnDone
  // cannot run before Begin returns, even if the call is already answered.
  static grpc::ServerUnaryReactor* Begin(Wait wait, const Access& access,
                                         AnswerPlace place) {
    auto* const call =
        new WaitingCall(std::move(wait), access, std::move(place));
    call->wait_.Start(call);
    return call;
  }

 private:
  WaitingCall(Wait wait, const Access& access, AnswerPlace place)
      : wait_(std::move(wait)), access_(access), place_(std::move(place)) {}

  void Started(const std::string& pid) override {
    place_.context.AddInitialMetadata("actord-pid", pid);
    StartSendInitialMetadata();
  }

  // A caller whose token has been revoked in the meantime does not get the
  // response.
  void Finish(const absl::Status& status, const Response& response) override {
    const absl::Status allowed = access_.CheckAgain();
    FinishCall(allowed.ok() ? status : allowed, response, place_, this);
  }

  // The client has gone, or its deadline has passed.
  void OnCancel() override {
    // The end of the span tells which of the two.
    if (wait_.TakeBack()) {
      grpc::ServerUnaryReactor::Finish(grpc::Status::CANCELLED);
    }
  }
  void OnDone() override { delete this; }

  Wait wait_;
  const Access access_;
  AnswerPlace place_;
};

}  // namespace actord::daemon
