// Who makes a call, and with which deadline and trace context.
//
// CallGate alone makes a Caller (daemon/calls/call_gate.h). So code that has a
// Caller runs behind the check of that call.
//
// Most members are read from gRPC's context only when they are asked for: the
// peer and the trace context allocate memory, and most calls need neither.
//
// Thread-safety: any thread, except traceparent: one thread at a time for each
// call. Ownership: borrows gRPC's context of the call, which lives until the
// reactor's OnDone has returned. A copy borrows the same context.
#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/string_ref.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace actord::daemon {

class Caller {
 public:
  // The method in the contract. Lives as long as the program.
  [[nodiscard]] const google::protobuf::MethodDescriptor& method() const {
    return *method_;
  }
  // The address at the other end, as gRPC writes it: "ipv4:127.0.0.1:49152",
  // "unix:" for every Unix socket. Allocates.
  [[nodiscard]] std::string peer() const { return context_->peer(); }
  // When the client gives the call up; InfiniteFuture: never.
  [[nodiscard]] absl::Time deadline() const {
    const auto deadline = context_->deadline();
    return deadline == decltype(context_->deadline())::max()
               ? absl::InfiniteFuture()
               : absl::FromChrono(deadline);
  }
  // The metadata `traceparent` (W3C Trace Context), unchecked; empty: there is
  // none, or more than one. The first use allocates a copy of all metadata. The
  // text lives as long as the context.
  [[nodiscard]] std::string_view traceparent() const {
    const auto [first, last] =
        context_->client_metadata().equal_range("traceparent");
    if (first == last || std::next(first) != last) return {};
    return {first->second.data(), first->second.size()};
  }
  // The number of the connection that carries the call; 0: unknown. It is
  // always 0 as long as gRPC accepts the connections: gRPC does not tell one
  // from another.
  [[nodiscard]] uint64_t connection() const { return connection_; }
  // The name that the client has proved; empty: none. It is always empty as
  // long as the daemon knows neither certificates nor tokens.
  [[nodiscard]] std::string_view identity() const { return identity_; }

 private:
  friend class CallGate;
  Caller(const grpc::CallbackServerContext& context,
         const google::protobuf::MethodDescriptor& method)
      : context_(&context), method_(&method) {}

  const grpc::CallbackServerContext* context_;
  const google::protobuf::MethodDescriptor* method_;
  uint64_t connection_ = 0;
  std::string_view identity_;
};

}  // namespace actord::daemon
