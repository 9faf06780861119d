// Waiting for a process's end.
#include <utility>

#include "daemon/calls/actor_service.h"
#include "daemon/calls/unary_call.h"
#include "daemon/wire/proto_requests.h"
#include "daemon/wire/proto_responses.h"

namespace actord::daemon {
namespace {

// One Await call. Owns itself: gone after OnDone, which gRPC calls when the
// call is finished and none of its functions is running or will be.
//
// Either the runtime's callback finishes the call, or OnCancel does after it
// took the callback back; CancelAwait decides which.
class AwaitCall final : public grpc::ServerUnaryReactor {
 public:
  AwaitCall(runtime::Runtime& runtime, const runtime::Pid& pid,
            grpc::ByteBuffer* out)
      : runtime_(runtime), pid_(pid), out_(out) {}

  // Called before gRPC knows the reactor: OnCancel and OnDone cannot run before
  // `id_` is written, even if the outcome is there already.
  void Start() {
    id_ =
        runtime_.Await(pid_, [this](absl::StatusOr<runtime::Outcome> outcome) {
          v1::AwaitResponse response;
          const absl::Status status = outcome.status();
          if (status.ok()) {
            WriteOutcome(pid_, *std::move(outcome), response.mutable_outcome());
          }
          FinishCall(status, response, out_, this);
        });
  }

 private:
  // The client has gone or its deadline has passed.
  void OnCancel() override {
    if (runtime_.CancelAwait(pid_, id_)) Finish(grpc::Status::CANCELLED);
  }

  void OnDone() override { delete this; }

  runtime::Runtime& runtime_;
  const runtime::Pid pid_;
  grpc::ByteBuffer* const out_;
  runtime::Runtime::AwaitId id_ = 0;
};

}  // namespace

ActorService::Reactor* ActorService::Await(Context* call, const Bytes* in,
                                           Bytes* out) {
  v1::AwaitRequest request;
  const absl::Status status = ReadMessage(*in, &request);
  const absl::StatusOr<runtime::Pid> pid =
      status.ok() ? FindProcess(runtime_, "pid", request.pid()) : status;
  if (!pid.ok()) {
    Reactor* const reactor = call->DefaultReactor();
    reactor->Finish(ToGrpcStatus(pid.status()));
    return reactor;
  }
  auto* const reactor = new AwaitCall(runtime_, *pid, out);
  reactor->Start();
  return reactor;
}

}  // namespace actord::daemon
