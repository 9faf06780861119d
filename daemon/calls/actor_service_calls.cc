// Asking processes, and the names that they are found by.
#include <utility>

#include "daemon/calls/actor_service.h"
#include "daemon/calls/unary_call.h"
#include "daemon/wire/page_token.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_responses.h"

namespace actord::daemon {
namespace {

// One Call. Owns itself: gone after OnDone, which gRPC calls when the call is
// finished and none of its functions is running or will be.
//
// Either the runtime's callback finishes the call, or OnCancel does after it
// took the callback back; CancelCall decides which.
class OneCall final : public grpc::ServerUnaryReactor {
 public:
  OneCall(runtime::Runtime& runtime, const runtime::Pid& pid,
          grpc::ByteBuffer* out)
      : runtime_(runtime), pid_(pid), out_(out) {}

  // Called before gRPC knows the reactor: OnCancel and OnDone cannot run before
  // `id_` is written, even if the answer is there already.
  void Start(const runtime::Message& message) {
    id_ = runtime_.Call(
        pid_, message, [this](absl::StatusOr<runtime::Payload> answer) {
          v1::CallResponse response;
          const absl::Status status = answer.status();
          if (status.ok()) {
            response.set_pid(runtime::FormatPid(pid_));
            WritePayload(*std::move(answer), response.mutable_result());
          }
          FinishCall(status, response, out_, this);
        });
  }

 private:
  // The client has gone or its deadline has passed.
  void OnCancel() override {
    if (runtime_.CancelCall(id_)) Finish(grpc::Status::CANCELLED);
  }

  void OnDone() override { delete this; }

  runtime::Runtime& runtime_;
  const runtime::Pid pid_;
  grpc::ByteBuffer* const out_;
  runtime::Runtime::CallId id_ = 0;
};

}  // namespace

ActorService::Reactor* ActorService::Call(Context* call, const Bytes* in,
                                          Bytes* out) {
  v1::CallRequest request;
  Address to;
  runtime::Message message;
  absl::Status status = ReadMessage(*in, &request);
  if (status.ok()) {
    status = ReadCall(&request, payload_limit(), to, message);
  }
  const absl::StatusOr<runtime::Pid> pid =
      status.ok() ? Resolve(runtime_, to) : status;
  if (!pid.ok()) {
    Reactor* const reactor = call->DefaultReactor();
    reactor->Finish(ToGrpcStatus(pid.status()));
    return reactor;
  }
  auto* const reactor = new OneCall(runtime_, *pid, out);
  reactor->Start(message);
  return reactor;
}

ActorService::Reactor* ActorService::ListNames(Context* call, const Bytes* in,
                                               Bytes* out) {
  return AnswerCall<v1::ListNamesRequest, v1::ListNamesResponse>(
      call, in, out,
      [this](v1::ListNamesRequest& request, v1::ListNamesResponse& response) {
        Paging paging;
        absl::Status status =
            ReadListNames(request, runtime_.options().incarnation, paging);
        if (!status.ok()) return status;
        const runtime::NamePage page = runtime_.ListNames(
            request.prefix(), paging.position, paging.page_size);
        for (const runtime::NamePage::Entry& entry : page.names) {
          v1::Name* const name = response.add_names();
          name->set_name(entry.name);
          name->set_pid(runtime::FormatPid(entry.pid));
        }
        if (page.next_sequence != 0) {
          response.set_next_page_token(
              MakePageToken(page.next_sequence, paging.scope));
        }
        return absl::OkStatus();
      });
}

}  // namespace actord::daemon
