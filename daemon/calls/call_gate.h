// Where every call begins, unary or stream, and the one place that refuses a
// caller. A call that is refused here has not been parsed and gets nothing but
// the status.
//
// RoutedService sends every method through here, and no handler can be called
// without the Caller that only Enter makes.
//
// Thread-safety: any thread, as far as the check is.
#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/server_context.h>

#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/operations/caller.h"

namespace actord::daemon {

// Whether a call may go on. An error refuses it: the client gets that status.
// Runs on gRPC's threads, any number at a time, and must not block.
using CallCheck = std::function<absl::Status(const Caller& caller)>;

class CallGate {
 public:
  // `check` null: every call may go on.
  explicit CallGate(CallCheck check) : check_(std::move(check)) {}

  // The caller of a call that has just come, or why the call is refused.
  // Without a check this allocates nothing.
  [[nodiscard]] absl::StatusOr<Caller> Enter(
      const grpc::CallbackServerContext& context,
      const google::protobuf::MethodDescriptor& method) const {
    const Caller caller(context, method);
    if (check_) {
      absl::Status status = check_(caller);
      if (!status.ok()) return status;
    }
    return caller;
  }

 private:
  const CallCheck check_;
};

}  // namespace actord::daemon
