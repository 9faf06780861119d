#include "client/calls/bulk.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "client/calls/call_window.h"
#include "client/calls/connection.h"
#include "client/calls/error.h"
#include "client/calls/mutex.h"

namespace actord::client {
namespace {

using AsyncStub = v1::ActorService::Stub;

// One attempt: context, request, response, and the callback for its end.
template <typename Request, typename Response>
using Method =
    std::function<void(grpc::ClientContext*, const Request*, Response*,
                       std::function<void(grpc::Status)>)>;

struct Limits {
  const Endpoint& endpoint;
  absl::Duration call_timeout;
  absl::Time deadline;
};

template <typename Request, typename Response>
class RpcCall final : public WindowedCall {
 public:
  RpcCall(Method<Request, Response> method, Limits limits, Request request,
          Bulk::Done<Response> done)
      : method_(std::move(method)),
        limits_(limits),
        request_(std::move(request)),
        done_(std::move(done)) {}

  void Start(std::function<void(absl::Status)> finished) override {
    const absl::Status usable = CheckEndpoint(limits_.endpoint);
    if (!usable.ok()) return finished(usable);
    grpc::ClientContext* context = nullptr;
    {
      const MutexLock lock(mutex_);
      // Frees the state of the earlier attempt, which has finished.
      context = &context_.emplace();
    }
    AddToken(limits_.endpoint, *context);
    SetDeadline(std::min(limits_.deadline, absl::Now() + limits_.call_timeout),
                *context);
    response_.Clear();
    method_(context, &request_, &response_,
            [finished = std::move(finished)](const grpc::Status& status) {
              finished(FromGrpc(status));
            });
  }

  void Cancel() override {
    const MutexLock lock(mutex_);
    if (context_) context_->TryCancel();
  }

  void Over(const absl::Status& status) override {
    {
      // The context shares ownership of the channel and must release it before
      // a waiter for this call goes on. If the context's share were the last,
      // gRPC would wait here, on its own thread, for this very thread to end.
      const MutexLock lock(mutex_);
      context_.reset();
    }
    if (status.ok()) {
      done_(std::move(response_));
    } else {
      done_(status);
    }
  }

 private:
  const Method<Request, Response> method_;
  const Limits limits_;
  const Request request_;
  const Bulk::Done<Response> done_;
  Response response_;
  Mutex mutex_;
  std::optional<grpc::ClientContext> context_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

struct Bulk::Core {
  Core(const Client& client, const BulkOptions& with)
      : connection(client.connection_),
        await_stub(
            v1::ActorService::NewStub(OpenChannel(connection->endpoint))),
        options(with),
        awaits({.window = with.await_window, .max_retries = 0}),
        calls({.window = with.window, .max_retries = with.max_retries}) {}

  template <typename Request, typename Response>
  auto MakeCall(Method<Request, Response> method, absl::Duration call_timeout,
                Request request, Done<Response> done) const {
    return std::make_shared<RpcCall<Request, Response>>(
        std::move(method),
        Limits{connection->endpoint, call_timeout, options.deadline},
        std::move(request), std::move(done));
  }

  const std::shared_ptr<Client::Connection> connection;
  const std::unique_ptr<AsyncStub> await_stub;
  const BulkOptions options;
  // Both windows are destroyed before the stubs, and `awaits` after `calls`,
  // because a submission that is over may add an await.
  CallWindow awaits;
  CallWindow calls;
};

Bulk::Bulk(const Client& client, const BulkOptions& options)
    : core_(std::make_unique<Core>(client, options)) {}

Bulk::~Bulk() = default;

void Bulk::Submit(v1::SubmitRequest request, Done<v1::SubmitResponse> done) {
  const Method<v1::SubmitRequest, v1::SubmitResponse> method =
      [stub = core_->connection->actors.get()](auto... arguments) {
        stub->async()->Submit(std::move(arguments)...);
      };
  core_->calls.Add(core_->MakeCall(method, core_->options.call_timeout,
                                   std::move(request), std::move(done)));
}

void Bulk::Send(v1::SendRequest request, Done<v1::SendResponse> done) {
  const Method<v1::SendRequest, v1::SendResponse> method =
      [stub = core_->connection->actors.get()](auto... arguments) {
        stub->async()->Send(std::move(arguments)...);
      };
  std::string order_key = core_->options.keep_order ? request.pid() : "";
  core_->calls.Add(core_->MakeCall(method, core_->options.call_timeout,
                                   std::move(request), std::move(done)),
                   std::move(order_key));
}

void Bulk::Call(v1::CallRequest request, Done<v1::CallResponse> done) {
  const Method<v1::CallRequest, v1::CallResponse> method =
      [stub = core_->connection->actors.get()](auto... arguments) {
        stub->async()->Call(std::move(arguments)...);
      };
  core_->calls.Add(core_->MakeCall(method, core_->options.call_timeout,
                                   std::move(request), std::move(done)));
}

void Bulk::Await(v1::AwaitRequest request, Done<v1::AwaitResponse> done) {
  const Method<v1::AwaitRequest, v1::AwaitResponse> method =
      [stub = core_->await_stub.get()](auto... arguments) {
        stub->async()->Await(std::move(arguments)...);
      };
  core_->awaits.Add(core_->MakeCall(method, absl::InfiniteDuration(),
                                    std::move(request), std::move(done)));
}

bool Bulk::WaitForRoom(absl::Duration timeout) {
  return core_->calls.WaitForRoom(timeout);
}

bool Bulk::WaitUntilIdle(absl::Duration timeout) {
  const absl::Time start = absl::Now();
  if (!core_->calls.WaitUntilIdle(timeout)) return false;
  // `awaits` comes second, because calls add awaits until they are idle.
  return core_->awaits.WaitUntilIdle(
      std::max(absl::ZeroDuration(), timeout - (absl::Now() - start)));
}

void Bulk::CancelAll() {
  core_->calls.CancelAll();
  core_->awaits.CancelAll();
}

}  // namespace actord::client
