// The gate that every call enters first, unary or stream. Only the gate refuses
// callers. A refused call has not been parsed and gets nothing but the status.
//
// RoutedService sends every method through the gate. No handler can be called
// without a Caller, which only Enter makes.
//
// Thread-safety: any thread, if the check may run on any thread.
#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/server_context.h>

#include <functional>
#include <utility>

#include "absl/status/statusor.h"
#include "daemon/access/access.h"
#include "daemon/operations/caller.h"
#include "daemon/tls/peer_certificates.h"

namespace actord::daemon {

// Decides whether a call may go on, and returns what the call may do. An error
// refuses the call, and the client gets that status. The check runs on gRPC's
// threads, on any number of them at a time, and must not block.
using CallCheck = std::function<absl::StatusOr<Access>(const Caller& caller)>;

class CallGate {
 public:
  // `check` null: every call may go on. `certificates` null: clients need no
  // certificates; else it must outlive the gate.
  explicit CallGate(CallCheck check, PeerCertificates* certificates = nullptr)
      : check_(std::move(check)), certificates_(certificates) {}

  // Returns the caller of a new call, or why the call is refused. Allocates
  // nothing if there is neither a check nor a need for certificates.
  [[nodiscard]] absl::StatusOr<Caller> Enter(
      grpc::CallbackServerContext& context,
      const google::protobuf::MethodDescriptor& method) const {
    Caller caller(context, method);
    if (certificates_ != nullptr) {
      auto certified = certificates_->Check(context.c_call());
      if (!certified.ok()) return certified.status();
      caller.certified_ = *std::move(certified);
    }
    if (check_) {
      absl::StatusOr<Access> access = check_(caller);
      if (!access.ok()) return access.status();
      caller.access_ = *std::move(access);
    }
    return caller;
  }

 private:
  const CallCheck check_;
  PeerCertificates* const certificates_;
};

}  // namespace actord::daemon
