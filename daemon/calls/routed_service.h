// A gRPC service whose methods are listed in one table, each with the member
// function that answers it, and whose calls all begin in the CallGate.
//
// A call goes through three steps, the same for every method: the gate yields
// its Caller, the request is read, the member function runs. A call that fails
// one of the steps is finished with that status and goes no further.
//
// The methods are raw: they take gRPC's bytes, see rpc_message.h.
//
// Thread-safety: Route is for the constructor's thread; the member functions
// run on any of gRPC's. Ownership: must outlive the server that serves it.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/calls/call_gate.h"
#include "daemon/calls/unary_answer.h"
#include "daemon/streams/stream.h"
#include "daemon/wire/rpc_message.h"
#include "daemon/wire/status_mapping.h"

namespace actord::daemon {

class RoutedService : public grpc::Service {
 protected:
  // Every method of the service `full_name` is to be routed.
  RoutedService(const std::string& full_name, CallCheck check);

  // To be called when every method has been routed.
  void CheckRoutes() const;

  // A method is of one of five kinds, which its member function tells apart.
  //
  // Unary, answered when the function returns.
  template <typename Service, typename Request, typename Response>
  void Route(const char* name,
             absl::Status (Service::*answer)(const Caller&, Request&,
                                             Response&)) {
    AddUnary<Request, Response>(
        name, [service = Self<Service>(), answer](
                  const Caller& caller, Request& request, Context* context,
                  Bytes* out) {
          grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
          Response response;
          FinishCall((service->*answer)(caller, request, response), response,
                     out, reactor);
          return reactor;
        });
  }

  // Unary, answered through the UnaryAnswer, now or later.
  template <typename Service, typename Request, typename Response>
  void Route(const char* name, void (Service::*answer)(const Caller&, Request&,
                                                       UnaryAnswer<Response>)) {
    AddUnary<Request, Response>(name, [service = Self<Service>(), answer](
                                          const Caller& caller,
                                          Request& request, Context* context,
                                          Bytes* out) {
      grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
      (service->*answer)(caller, request, UnaryAnswer<Response>(out, reactor));
      return reactor;
    });
  }

  // Unary, answered when the wait is over or its client gives it up. The
  // function returns the wait (waits.h), or why there is nothing to wait for.
  template <typename Service, typename Request, typename Wait>
  void Route(const char* name,
             absl::StatusOr<Wait> (Service::*begin)(const Caller&, Request&)) {
    AddUnary<Request, typename Wait::Response>(
        name, [service = Self<Service>(), begin](const Caller& caller,
                                                 Request& request,
                                                 Context* context, Bytes* out) {
          absl::StatusOr<Wait> wait = (service->*begin)(caller, request);
          return wait.ok() ? WaitingCall<Wait>::Begin(*std::move(wait), out)
                           : Refuse(context, wait.status());
        });
  }

  // A stream of requests and of responses. The function makes the stream, which
  // reads the requests itself.
  template <typename Service, typename Opened>
  void Route(const char* name,
             std::shared_ptr<Opened> (Service::*open)(const Caller&)) {
    using Reactor = grpc::ServerBidiReactor<Bytes, Bytes>;
    const Method& method = Add(name, Kind::kBidiStream, nullptr, nullptr);
    Handle(new grpc::internal::CallbackBidiHandler<Bytes, Bytes>(
        [this, &method, service = Self<Service>(),
         open](Context* context) -> Reactor* {
          const absl::StatusOr<Caller> caller = gate_.Enter(*context, method);
          if (!caller.ok()) {
            return new RefusedStream<Reactor>(caller.status());
          }
          return Stream::Begin((service->*open)(*caller));
        }));
  }

  // A stream of responses to one request. The function returns the stream, or
  // why there is none.
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
          const absl::StatusOr<Caller> caller =
              Begin(*context, method, *in, &request);
          absl::StatusOr<std::shared_ptr<Opened>> stream =
              caller.ok() ? (service->*open)(*caller, request)
                          : caller.status();
          if (!stream.ok()) {
            return new RefusedStream<Reactor>(stream.status());
          }
          return Stream::Begin(*std::move(stream));
        }));
  }

 private:
  using Bytes = grpc::ByteBuffer;
  using Context = grpc::CallbackServerContext;
  using Descriptor = google::protobuf::Descriptor;
  using Method = google::protobuf::MethodDescriptor;
  enum class Kind { kUnary, kServerStream, kBidiStream };

  // A stream that is finished as it begins. Owns itself until OnDone.
  template <typename Reactor>
  class RefusedStream final : public Reactor {
   public:
    explicit RefusedStream(const absl::Status& status) {
      this->Finish(ToGrpcStatus(status));
    }

   private:
    void OnDone() override { delete this; }
  };

  static grpc::ServerUnaryReactor* Refuse(Context* context,
                                          const absl::Status& status) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(status));
    return reactor;
  }

  // The gate, and then the request.
  absl::StatusOr<Caller> Begin(const Context& context, const Method& method,
                               const Bytes& in,
                               google::protobuf::Message* request) const {
    absl::StatusOr<Caller> caller = gate_.Enter(context, method);
    if (!caller.ok()) return caller;
    absl::Status status = ReadMessage(in, request);
    if (!status.ok()) return status;
    return caller;
  }

  // `answer(caller, request, context, out)` returns the call's reactor.
  template <typename Request, typename Response, typename Answer>
  void AddUnary(const char* name, Answer answer) {
    const Method& method =
        Add(name, Kind::kUnary, Request::descriptor(), Response::descriptor());
    Handle(new grpc::internal::CallbackUnaryHandler<Bytes, Bytes>(
        [this, &method, answer](Context* context, const Bytes* in, Bytes* out) {
          Request request;
          const absl::StatusOr<Caller> caller =
              Begin(*context, method, *in, &request);
          return caller.ok() ? answer(*caller, request, context, out)
                             : Refuse(context, caller.status());
        }));
  }

  template <typename Service>
  Service* Self() {
    return static_cast<Service*>(this);
  }

  // Adds method `name` to gRPC's list. Aborts if the contract has no such
  // method, or one of another kind or of other messages; null: any.
  const Method& Add(const char* name, Kind kind, const Descriptor* request,
                    const Descriptor* response);
  // Gives gRPC the handler of the method that was added last.
  void Handle(grpc::internal::MethodHandler* handler);

  const google::protobuf::ServiceDescriptor& service_;
  const CallGate gate_;
  // gRPC borrows the paths of the methods: "/actord.v1.ActorService/Send".
  std::deque<std::string> paths_;
};

}  // namespace actord::daemon
