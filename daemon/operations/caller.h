// The caller of an RPC, and the deadline and trace of the call.
//
// Only CallGate makes a Caller (daemon/calls/call_gate.h). So code that has a
// Caller runs after the check of that call.
//
// Most members are read from the source of the call only on demand: the address
// and the trace allocate memory, and most calls need neither.
//
// Thread-safety: any thread. Ownership: borrows the source of the call: gRPC's
// context, which lives until the reactor's OnDone has returned, or the
// HttpSource. A copy borrows the same source.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "daemon/access/access.h"
#include "daemon/access/call_source.h"
#include "daemon/connections/registry.h"
#include "daemon/log/client_address.h"
#include "daemon/tls/certified_peer.h"
#include "runtime/tracing/trace_context.h"

namespace actord::daemon {

class Caller {
 public:
  // The method in the contract. The descriptor lives as long as the program.
  [[nodiscard]] const google::protobuf::MethodDescriptor& method() const {
    return *method_;
  }
  // The address of the client, for people: "127.0.0.1:49152", "[::1]:49152", or
  // "unix:17" for connection 17 over a Unix socket. Allocates.
  [[nodiscard]] std::string address() const {
    return ClientAddress(source_.peer());
  }
  // The deadline of the call; InfiniteFuture: the call has no deadline.
  [[nodiscard]] absl::Time deadline() const { return source_.deadline(); }
  // The trace of the call, from the metadata entries `traceparent` and
  // `tracestate` (W3C Trace Context). nullopt: the call has none that is valid,
  // or the daemon carries no traces on. If the call has a span, its trace.
  [[nodiscard]] std::optional<runtime::TraceContext> trace() const {
    if (span_ != nullptr) return *span_;
    if (!reads_traces_) return std::nullopt;
    const CallSource::Value traceparent = source_.traceparent();
    if (traceparent.count != 1) return std::nullopt;
    return runtime::ReadTraceContext(traceparent.text, source_.tracestate());
  }
  // The call has a span with this trace, which is borrowed: a copy of the
  // caller that outlives the span must not be asked for its trace.
  void SetSpan(const runtime::TraceContext& span) { span_ = &span; }
  // The number of the connection that carries the call
  // (daemon/connections/registry.h); 0: unknown. Looked up on demand, unless
  // the client has presented a certificate, or uses the admin port: allocates,
  // and takes the registry's mutex.
  [[nodiscard]] uint64_t connection() const {
    if (certified_ != nullptr) return certified_->connection;
    if (source_.of_grpc() == nullptr) return source_.http_connection();
    return connections_ == nullptr ? 0 : connections_->FindPeer(source_.peer());
  }
  // The size of the request; 0: the call is a stream of requests.
  [[nodiscard]] size_t request_bytes() const { return request_bytes_; }
  // The rights and the identity of the caller.
  [[nodiscard]] const Access& access() const { return access_; }
  // The name that the client has proved by its token, else by its certificate;
  // empty: the client has proved no name. The text lives as long as a copy of
  // this caller.
  [[nodiscard]] std::string_view identity() const {
    const identity::Identity* const identity = access_.identity();
    if (identity != nullptr) return identity->name;
    return certified_ == nullptr ? std::string_view() : certified_->name;
  }
  // The source of the call. For the checks of the gate.
  [[nodiscard]] const CallSource& source() const { return source_; }

 private:
  friend class CallGate;
  Caller(const CallSource& source,
         const google::protobuf::MethodDescriptor& method,
         const ConnectionRegistry* connections, size_t request_bytes,
         bool reads_traces)
      : source_(source),
        method_(&method),
        connections_(connections),
        request_bytes_(request_bytes),
        reads_traces_(reads_traces) {}

  CallSource source_;
  const google::protobuf::MethodDescriptor* method_;
  const ConnectionRegistry* connections_;  // null: no numbers are known
  size_t request_bytes_;
  bool reads_traces_;
  const runtime::TraceContext* span_ = nullptr;  // null: the call has none
  // Null: the client has presented no certificate.
  std::shared_ptr<const CertifiedPeer> certified_;
  Access access_;
};

}  // namespace actord::daemon
