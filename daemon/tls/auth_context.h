// gRPC's authentication context of a call. All calls of a connection have the
// same one, and gRPC keeps it as long as the connection, or a reference to it,
// lives.
//
// Thread-safety: any thread.
#pragma once

#include <grpc/grpc_security.h>

#include <memory>

struct grpc_call;

namespace actord::daemon {

struct ReleaseAuthContext {
  void operator()(grpc_auth_context* context) const {
    grpc_auth_context_release(context);
  }
};
// A reference.
using AuthContext = std::unique_ptr<grpc_auth_context, ReleaseAuthContext>;

// Null: the call has none.
inline AuthContext AuthContextOf(grpc_call* call) {
  return AuthContext(grpc_call_auth_context(call));
}

}  // namespace actord::daemon
