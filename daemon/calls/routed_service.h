// A gRPC service with one table of its methods. The table names the member
// function that answers each method. Every call begins in the CallGate.
//
// Every call goes through the same three steps: the gate makes the Caller, the
// request is read, and the member function runs. If a step fails, the call is
// finished with the status of that step.
//
// The methods are raw: they take gRPC's bytes (rpc_message.h). BeginDirect
// calls the unary ones, and those with a stream of responses, without gRPC, for
// the JSON API (daemon/api/).
//
// Thread-safety: Route is for the constructor's thread; the member functions
// run on any of gRPC's threads. Ownership: the service must outlive its server.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/access/audit.h"
#include "daemon/access/call_source.h"
#include "daemon/access/client_quotas.h"
#include "daemon/access/request_trace.h"
#include "daemon/calls/call_gate.h"
#include "daemon/calls/direct_call.h"
#include "daemon/calls/spanned_call.h"
#include "daemon/calls/unary_answer.h"
#include "daemon/operations/unread_answers.h"
#include "daemon/spans/spans.h"
#include "daemon/streams/stream.h"
#include "daemon/tls/peer_certificates.h"
#include "daemon/wire/rpc_message.h"
#include "daemon/wire/status_mapping.h"

namespace actord::daemon {

class RoutedService : public grpc::Service {
 public:
  // Calls `visit(name, count)` for each method, in the order of the contract,
  // with the number of its calls that have begun. Any thread.
  template <typename Visit>
  void ForEachMethod(Visit visit) const {
    for (int i = 0; i < service_.method_count(); ++i) {
      visit(
          service_.method(i)->name(),
          begun_[static_cast<size_t>(i)].count.load(std::memory_order_relaxed));
    }
  }

  [[nodiscard]] const google::protobuf::ServiceDescriptor& descriptor() const {
    return service_;
  }
  // Begins a call of a unary method of descriptor(), which ends with
  // DirectCall::Finish, perhaps before BeginDirect returns. Never blocks.
  void BeginDirect(const google::protobuf::MethodDescriptor& method,
                   DirectCall& call) const {
    direct_[static_cast<size_t>(method.index())](call);
  }
  // The same for a method with one request and a stream of responses.
  void BeginDirect(const google::protobuf::MethodDescriptor& method,
                   DirectStream& call) const {
    direct_streams_[static_cast<size_t>(method.index())](call);
  }

 protected:
  // The subclass must route every method of the service `full_name`.
  // `max_unread_bytes`: see UnreadAnswers.
  RoutedService(const std::string& full_name, CallCheck check,
                const GateParts& parts, size_t max_unread_bytes);

  [[nodiscard]] const UnreadAnswers& unread_answers() const { return unread_; }

  // The position of the last record so far (0: there is none), and two ways to
  // wait until the record at a position is durable (runtime.h): a unary call of
  // gRPC may sync on its thread, and the others may not.
  [[nodiscard]] virtual uint64_t LastPosition() const = 0;
  virtual void WhenDurable(uint64_t position,
                           absl::AnyInvocable<void() &&> then) = 0;
  virtual void WhenDurableHere(uint64_t position,
                               absl::AnyInvocable<void() &&> then) = 0;

  // Asserts that every method has been routed. To be called after the last
  // Route.
  void CheckRoutes() const;

  // There are five kinds of methods. The type of the member function selects
  // the kind.
  //
  // A unary method that is answered when the function returns.
  template <typename Service, typename Request, typename Response>
  void Route(const char* name,
             absl::Status (Service::*answer)(const Caller&, Request&,
                                             Response&)) {
    const auto run = [service = Self<Service>(), answer](const Caller& caller,
                                                         Request& request,
                                                         Response& response) {
      const AuditEntry audit = service->Audit(caller, request);
      absl::Status status = (service->*answer)(caller, request, response);
      audit.Done(status);
      return status;
    };
    AddUnary<Request, Response>(name, [this, run](const Caller& caller,
                                                  Request& request,
                                                  AnswerPlace place) {
      grpc::ServerUnaryReactor* const reactor = place.context.DefaultReactor();
      Response response;
      const absl::Status status = run(caller, request, response);
      const uint64_t position = LastPosition();
      if (position == 0) {
        FinishCall(status, response, place, reactor);
        return reactor;
      }
      // The answer may rest on records that are not durable yet.
      WhenDurableHere(position, [status, response = std::move(response),
                                 place = std::move(place), reactor]() mutable {
        FinishCall(status, response, place, reactor);
      });
      return reactor;
    });
    AddDirect<Request>(name, [this, run](const Caller& caller, Request& request,
                                         DirectCall& call) {
      Response response;
      const absl::Status status = run(caller, request, response);
      // At position 0 the call is finished at once.
      WhenDurable(LastPosition(),
                  [status, response = std::move(response), &call] {
                    call.Finish(status, status.ok() ? &response : nullptr);
                  });
    });
  }

  // A unary method that is answered through the UnaryAnswer, now or later.
  template <typename Service, typename Request, typename Response>
  void Route(const char* name, void (Service::*answer)(const Caller&, Request&,
                                                       UnaryAnswer<Response>)) {
    AddUnary<Request, Response>(name, [service = Self<Service>(), answer](
                                          const Caller& caller,
                                          Request& request, AnswerPlace place) {
      grpc::ServerUnaryReactor* const reactor = place.context.DefaultReactor();
      (service->*answer)(caller, request,
                         place.span == nullptr
                             ? UnaryAnswer<Response>(place.out, reactor)
                             : UnaryAnswer<Response>(
                                   *new SpannedEnd(std::move(place), reactor)));
      return reactor;
    });
    AddDirect<Request>(
        name, [service = Self<Service>(), answer](
                  const Caller& caller, Request& request, DirectCall& call) {
          (service->*answer)(caller, request, UnaryAnswer<Response>(call));
        });
  }

  // A unary method that is answered when its wait is over, or when its client
  // cancels the call. The function returns the wait (waits.h), or the reason
  // why the call cannot wait.
  template <typename Service, typename Request, typename Wait>
  void Route(const char* name,
             absl::StatusOr<Wait> (Service::*begin)(const Caller&, Request&)) {
    AddUnary<Request, typename Wait::Response>(
        name, [service = Self<Service>(), begin](
                  const Caller& caller, Request& request, AnswerPlace place) {
          absl::StatusOr<Wait> wait = (service->*begin)(caller, request);
          if (wait.ok()) {
            return WaitingCall<Wait>::Begin(*std::move(wait), caller.access(),
                                            std::move(place));
          }
          if (place.span != nullptr) place.span->End(wait.status());
          return Refuse(&place.context, wait.status());
        });
    AddDirect<Request>(name, [service = Self<Service>(), begin](
                                 const Caller& caller, Request& request,
                                 DirectCall& call) {
      absl::StatusOr<Wait> wait = (service->*begin)(caller, request);
      if (!wait.ok()) return call.Refuse(wait.status());
      DirectWaitingCall<Wait>::Begin(*std::move(wait), caller.access(), call);
    });
  }

  // A method with a stream of requests and a stream of responses. The function
  // makes the Stream, which reads the requests itself.
  template <typename Service, typename Opened>
  void Route(const char* name,
             std::shared_ptr<Opened> (Service::*open)(const Caller&)) {
    using Reactor = grpc::ServerBidiReactor<Bytes, Bytes>;
    const Method& method = Add(name, Kind::kBidiStream, nullptr, nullptr);
    Handle(new grpc::internal::CallbackBidiHandler<Bytes, Bytes>(
        [this, &method, service = Self<Service>(),
         open](Context* context) -> Reactor* {
          CountBegun(method);
          absl::StatusOr<Caller> caller =
              gate_.Enter(CallSource(*context), method);
          absl::StatusOr<StreamSlot> slot = TakeSlot(caller);
          if (!slot.ok()) return new RefusedStream<Reactor>(slot.status());
          std::unique_ptr<CallSpan> span = BeginSpan(*caller);
          return Stream::Begin((service->*open)(*caller), *context, unread_,
                               *std::move(slot), std::move(span));
        }));
  }

  // A method with one request and a stream of responses. The function returns
  // the stream, or the reason why there is none.
  template <typename Service, typename Request, typename Opened>
  void Route(const char* name,
             absl::StatusOr<std::shared_ptr<Opened>> (Service::*open)(
                 const Caller&, const Request&)) {
    using Reactor = grpc::ServerWriteReactor<Bytes>;
    const Method& method =
        Add(name, Kind::kServerStream, Request::descriptor(), nullptr);
    Handle(new grpc::internal::CallbackServerStreamingHandler<Bytes, Bytes>(
        [this, &method, service = Self<Service>(), open](
            Context* context, const Bytes* in) -> Reactor* {
          Request request;
          absl::StatusOr<Caller> caller =
              Begin(*context, method, *in, &request);
          absl::StatusOr<StreamSlot> slot = TakeSlot(caller);
          if (!slot.ok()) return new RefusedStream<Reactor>(slot.status());
          std::unique_ptr<CallSpan> span = BeginSpan(*caller);
          absl::StatusOr<std::shared_ptr<Opened>> stream =
              (service->*open)(*caller, request);
          if (!stream.ok()) {
            if (span != nullptr) span->End(stream.status());
            return new RefusedStream<Reactor>(stream.status());
          }
          return Stream::Begin(*std::move(stream), *context, unread_,
                               *std::move(slot), std::move(span));
        }));
    direct_streams_[static_cast<size_t>(method.index())] =
        [this, &method, service = Self<Service>(), open](DirectStream& call) {
          Request request;
          absl::StatusOr<Caller> caller = Begin(method, call, &request);
          absl::StatusOr<StreamSlot> slot = TakeSlot(caller);
          if (!slot.ok()) return call.Refuse(slot.status());
          std::unique_ptr<CallSpan> span = BeginSpan(*caller);
          absl::StatusOr<std::shared_ptr<Opened>> stream =
              (service->*open)(*caller, request);
          if (!stream.ok()) {
            if (span != nullptr) span->End(stream.status());
            return call.Refuse(stream.status());
          }
          call.Opened(*stream);
          Stream::BeginTo(*std::move(stream), call, call.source().peer,
                          *std::move(slot), std::move(span));
        };
  }

 private:
  using Bytes = grpc::ByteBuffer;
  using Context = grpc::CallbackServerContext;
  using Descriptor = google::protobuf::Descriptor;
  using Method = google::protobuf::MethodDescriptor;
  enum class Kind { kUnary, kServerStream, kBidiStream };

  // A refused stream finishes as it begins. It owns itself until OnDone.
  template <typename Reactor>
  class RefusedStream final : public Reactor {
   public:
    explicit RefusedStream(const absl::Status& status) {
      this->Finish(ToGrpcStatus(status));
    }

   private:
    void OnDone() override { delete this; }
  };

  // Each on a cache line of its own, so that calls of different methods do not
  // disturb each other. Written and read relaxed: a number for operators.
  struct alignas(64) BegunCalls {
    std::atomic<uint64_t> count{0};
  };

  void CountBegun(const Method& method) {
    begun_[static_cast<size_t>(method.index())].count.fetch_add(
        1, std::memory_order_relaxed);
  }

  // The place of a new stream among those of its client.
  static absl::StatusOr<StreamSlot> TakeSlot(
      const absl::StatusOr<Caller>& caller) {
    if (!caller.ok()) return caller.status();
    return caller->access().TakeStream();
  }

  static grpc::ServerUnaryReactor* Refuse(Context* context,
                                          const absl::Status& status) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(status));
    return reactor;
  }

  // Takes the call through the gate, and then reads the request.
  absl::StatusOr<Caller> Begin(Context& context, const Method& method,
                               const Bytes& in,
                               google::protobuf::Message* request) {
    CountBegun(method);
    absl::StatusOr<Caller> caller =
        gate_.Enter(CallSource(context), method, in.Length());
    if (!caller.ok()) return caller;
    absl::Status status = ReadMessage(in, request);
    if (!status.ok()) return status;
    return caller;
  }

  // Null: the call has no span. Else the caller has the trace of the span.
  std::unique_ptr<CallSpan> BeginSpan(Caller& caller) const;

  // `answer(caller, request, place)` returns the call's reactor.
  template <typename Request, typename Response, typename Answer>
  void AddUnary(const char* name, Answer answer) {
    const Method& method =
        Add(name, Kind::kUnary, Request::descriptor(), Response::descriptor());
    Handle(new grpc::internal::CallbackUnaryHandler<Bytes, AnswerBytes>(
        [this, &method, answer](Context* context, const Bytes* in, auto* out) {
          RequestOnStack<Request> request;
          absl::StatusOr<Caller> caller =
              Begin(*context, method, *in, &*request);
          if (!caller.ok()) return Refuse(context, caller.status());
          std::unique_ptr<CallSpan> span = BeginSpan(*caller);
          const CallTrace trace(caller->trace());
          return answer(
              *caller, *request,
              AnswerPlace{*context, unread_, &out->bytes, std::move(span)});
        }));
  }

  // Takes a call that does not come through gRPC through the gate, and then
  // reads its request.
  absl::StatusOr<Caller> Begin(const Method& method, DirectRequest& call,
                               google::protobuf::Message* request) {
    CountBegun(method);
    absl::StatusOr<Caller> caller =
        gate_.Enter(CallSource(call.source()), method, call.request_bytes());
    if (!caller.ok()) return caller;
    absl::Status status = call.ReadRequest(request);
    if (!status.ok()) return status;
    return caller;
  }

  // Same as AddUnary, for calls that do not come through gRPC: `answer(caller,
  // request, call)`. To be called after AddUnary.
  template <typename Request, typename Answer>
  void AddDirect(const char* name, Answer answer) {
    const Method& method = *service_.FindMethodByName(name);
    direct_[static_cast<size_t>(method.index())] = [this, &method,
                                                    answer](DirectCall& call) {
      Request request;
      absl::StatusOr<Caller> caller = Begin(method, call, &request);
      if (!caller.ok()) return call.Refuse(caller.status());
      std::unique_ptr<CallSpan> span = BeginSpan(*caller);
      const CallTrace trace(caller->trace());
      if (span == nullptr) return answer(*caller, request, call);
      answer(*caller, request, *SpannedCall::Begin(call, std::move(span)));
    };
  }

  template <typename Service>
  Service* Self() {
    return static_cast<Service*>(this);
  }

  // Adds method `name` to gRPC's list. Aborts if the contract has no such
  // method, or if the method there has another kind, request or response. A
  // null `request` or `response` matches any message.
  const Method& Add(const char* name, Kind kind, const Descriptor* request,
                    const Descriptor* response);
  // Gives gRPC the handler of the method that was added last.
  void Handle(grpc::internal::MethodHandler* handler);

  const google::protobuf::ServiceDescriptor& service_;
  const CallGate gate_;
  Spans* const spans_;  // null: calls have no spans
  UnreadAnswers unread_;
  // By the index of the method.
  std::vector<BegunCalls> begun_;
  // The same; null: the method is of another kind.
  std::vector<std::function<void(DirectCall&)>> direct_;
  std::vector<std::function<void(DirectStream&)>> direct_streams_;
  // The paths of the methods: "/actord.v1.ActorService/Send". Lent to gRPC.
  std::deque<std::string> paths_;
};

}  // namespace actord::daemon
