#include "client/bulk/bulk.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "client/bulk/call_window.h"
#include "client/bulk/ordered_sends.h"
#include "client/bulk/streamed_submits.h"
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

  [[nodiscard]] const Request& request() const { return request_; }
  // The answer that came another way.
  void SetResponse(Response response) { response_ = std::move(response); }

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

using SubmitCall = RpcCall<v1::SubmitRequest, v1::SubmitResponse>;

// A submission over a stream, or by its call.
class StreamedSubmit final : public WindowedCall {
 public:
  StreamedSubmit(StreamedSubmits& stream, std::shared_ptr<SubmitCall> call)
      : stream_(stream), call_(std::move(call)) {}

  void Start(std::function<void(absl::Status)> finished) override {
    stream_.Start(
        call_->request(),
        [this, finished](absl::StatusOr<v1::SubmitResponse> answer) {
          const absl::Status status = answer.status();
          if (status.ok()) call_->SetResponse(*std::move(answer));
          finished(status);
        },
        [this, finished] {
          call_->Start(finished);
          // A Cancel before this had no call to cancel.
          if (is_cancelled_.load()) call_->Cancel();
        });
  }

  // Uses nothing but this call: the stream may have ended. Bulk cancels it.
  void Cancel() override {
    is_cancelled_.store(true);
    call_->Cancel();
  }

  void Over(const absl::Status& status) override { call_->Over(status); }

 private:
  StreamedSubmits& stream_;
  const std::shared_ptr<SubmitCall> call_;
  std::atomic<bool> is_cancelled_{false};
};

absl::Duration Left(absl::Duration timeout, absl::Time start) {
  return std::max(absl::ZeroDuration(), timeout - (absl::Now() - start));
}

}  // namespace

struct Bulk::Core {
  Core(const Client& client, const BulkOptions& with)
      : connection(client.connection_),
        await_stub(
            v1::ActorService::NewStub(OpenChannel(connection->endpoint))),
        options(with),
        submits(connection->endpoint, *connection->actors,
                {.patience = with.call_timeout, .deadline = with.deadline}),
        awaits({.window = with.await_window, .max_retries = 0}),
        calls({.window = with.window, .max_retries = with.max_retries}),
        sends(connection->endpoint, *connection->actors,
              {.window = with.window,
               .patience = with.call_timeout,
               .deadline = with.deadline,
               .max_retries = with.max_retries},
              [this](v1::SendRequest request, Done<v1::SendResponse> done) {
                std::string receiver = request.pid();
                SendAlone(std::move(request), std::move(done),
                          std::move(receiver));
              }) {}

  template <typename Request, typename Response>
  auto MakeCall(Method<Request, Response> method, absl::Duration call_timeout,
                Request request, Done<Response> done) const {
    return std::make_shared<RpcCall<Request, Response>>(
        std::move(method),
        Limits{connection->endpoint, call_timeout, options.deadline},
        std::move(request), std::move(done));
  }

  // A call for one message.
  void SendAlone(v1::SendRequest request, Done<v1::SendResponse> done,
                 std::string order_key) {
    const Method<v1::SendRequest, v1::SendResponse> method =
        [stub = connection->actors.get()](auto... arguments) {
          stub->async()->Send(std::move(arguments)...);
        };
    calls.Add(MakeCall(method, options.call_timeout, std::move(request),
                       std::move(done)),
              std::move(order_key));
  }

  void Added() { added.fetch_add(1, std::memory_order_release); }

  const std::shared_ptr<Client::Connection> connection;
  const std::unique_ptr<AsyncStub> await_stub;
  const BulkOptions options;
  // Number of submits, sends, calls and awaits. Written after each was added,
  // with release; WaitUntilIdle reads it with acquire. So a pass over the
  // windows that sees the number unchanged has missed none.
  std::atomic<uint64_t> added{0};
  // The windows are destroyed before `submits` and the stubs, and `sends`
  // first, because it may add calls. ~Bulk has waited until all are idle: a
  // Done may add to any.
  StreamedSubmits submits;
  CallWindow awaits;
  CallWindow calls;
  OrderedSends sends;
};

Bulk::Bulk(const Client& client, const BulkOptions& options)
    : core_(std::make_unique<Core>(client, options)) {}

Bulk::~Bulk() {
  CancelAll();
  WaitUntilIdle(absl::InfiniteDuration());
}

void Bulk::Submit(v1::SubmitRequest request, Done<v1::SubmitResponse> done) {
  const Method<v1::SubmitRequest, v1::SubmitResponse> method =
      [stub = core_->connection->actors.get()](auto... arguments) {
        stub->async()->Submit(std::move(arguments)...);
      };
  std::shared_ptr<SubmitCall> call = core_->MakeCall(
      method, core_->options.call_timeout, std::move(request), std::move(done));
  if (core_->options.streams_submits) {
    core_->calls.Add(
        std::make_shared<StreamedSubmit>(core_->submits, std::move(call)));
  } else {
    core_->calls.Add(std::move(call));
  }
  core_->Added();
}

void Bulk::Send(v1::SendRequest request, Done<v1::SendResponse> done) {
  if (core_->options.keep_order) {
    core_->sends.Send(std::move(request), std::move(done));
  } else {
    core_->SendAlone(std::move(request), std::move(done), "");
  }
  core_->Added();
}

void Bulk::Call(v1::CallRequest request, Done<v1::CallResponse> done) {
  const Method<v1::CallRequest, v1::CallResponse> method =
      [stub = core_->connection->actors.get()](auto... arguments) {
        stub->async()->Call(std::move(arguments)...);
      };
  core_->calls.Add(core_->MakeCall(method, core_->options.call_timeout,
                                   std::move(request), std::move(done)));
  core_->Added();
}

void Bulk::Await(v1::AwaitRequest request, Done<v1::AwaitResponse> done) {
  const Method<v1::AwaitRequest, v1::AwaitResponse> method =
      [stub = core_->await_stub.get()](auto... arguments) {
        stub->async()->Await(std::move(arguments)...);
      };
  core_->awaits.Add(core_->MakeCall(method, absl::InfiniteDuration(),
                                    std::move(request), std::move(done)));
  core_->Added();
}

bool Bulk::WaitForRoom(absl::Duration timeout) {
  const absl::Time start = absl::Now();
  return core_->sends.WaitForRoom(timeout) &&
         core_->calls.WaitForRoom(Left(timeout, start));
}

bool Bulk::WaitUntilIdle(absl::Duration timeout) {
  const absl::Time start = absl::Now();
  for (;;) {
    const uint64_t added = core_->added.load(std::memory_order_acquire);
    // `sends` comes first, because it adds calls until it is idle.
    if (!core_->sends.WaitUntilIdle(Left(timeout, start)) ||
        !core_->calls.WaitUntilIdle(Left(timeout, start)) ||
        !core_->awaits.WaitUntilIdle(Left(timeout, start))) {
      return false;
    }
    // A Done may have added to a window that was idle before.
    if (core_->added.load(std::memory_order_acquire) == added) return true;
  }
}

void Bulk::CancelAll() {
  // `sends` comes last: the calls that it adds are then cancelled, too.
  core_->calls.CancelAll();
  core_->submits.Cancel();
  core_->awaits.CancelAll();
  core_->sends.CancelAll();
}

}  // namespace actord::client
