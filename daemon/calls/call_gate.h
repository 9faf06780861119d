// The gate that every call enters first, unary or stream. It refuses callers by
// token, role and quota of requests. Only the quota of open streams comes after
// it (routed_service.h), and the rights to single items (access.h). A refused
// call has not been parsed and gets nothing but the status.
//
// RoutedService sends every method through the gate, from gRPC and from the
// JSON API. No handler can be called without a Caller, which only Enter makes.
//
// Thread-safety: any thread, if the check may run on any thread.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <functional>
#include <utility>

#include "absl/status/statusor.h"
#include "daemon/access/access.h"
#include "daemon/access/call_source.h"
#include "daemon/connections/http_clients.h"
#include "daemon/connections/registry.h"
#include "daemon/operations/caller.h"
#include "daemon/operations/presented_tokens.h"
#include "daemon/spans/spans.h"
#include "daemon/tls/auth_context.h"
#include "daemon/tls/peer_certificates.h"
#include "identity/identity.h"
#include "identity/role.h"

namespace actord::daemon {

// Decides whether a call may go on, and returns what the call may do. An error
// refuses the call, and the client gets that status. The check runs on gRPC's
// threads and on that of the JSON API, on any number of them at a time, and
// must not block.
using CallCheck = std::function<absl::StatusOr<Access>(const Caller& caller)>;

// The parts of the daemon that know more about a caller than the call shows.
// All must outlive the gate.
struct GateParts {
  PeerCertificates* certificates = nullptr;         // null: clients need none
  const ConnectionRegistry* connections = nullptr;  // null: have no numbers
  PresentedTokens* tokens = nullptr;    // null: nobody remembers the tokens
  HttpClients* http_clients = nullptr;  // the same for the admin port
  bool reads_traces = true;             // see Caller::trace
  Spans* spans = nullptr;               // null: calls have no spans
};

class CallGate {
 public:
  // `check` null: every call may go on.
  explicit CallGate(CallCheck check, const GateParts& parts = {})
      : check_(std::move(check)), parts_(parts) {}

  // Returns the caller of a new call, or the reason for its refusal. Allocates
  // nothing if there is neither a check nor a need for certificates.
  // `request_bytes`: see Caller.
  [[nodiscard]] absl::StatusOr<Caller> Enter(
      const CallSource& source,
      const google::protobuf::MethodDescriptor& method,
      size_t request_bytes = 0) const {
    Caller caller(source, method, parts_.connections, request_bytes,
                  parts_.reads_traces);
    grpc_call* const call = source.of_grpc();
    // The other calls come over connections that have no certificate, as calls
    // over Unix sockets do.
    const AuthContext context = ContextOf(call);
    if (parts_.certificates != nullptr && context != nullptr) {
      auto certified = parts_.certificates->Check(call, *context);
      if (!certified.ok()) return certified.status();
      caller.certified_ = *std::move(certified);
    }
    if (check_) {
      absl::StatusOr<Access> access = check_(caller);
      if (!access.ok()) return access.status();
      caller.access_ = *std::move(access);
      if (parts_.tokens != nullptr && context != nullptr) {
        absl::Status noted = parts_.tokens->Note(*context, caller);
        if (!noted.ok()) return noted;
      }
      if (parts_.http_clients != nullptr && call == nullptr) {
        NoteHttp(caller);
      }
    }
    return caller;
  }

 private:
  // Null: nothing needs it, or the call has none.
  [[nodiscard]] AuthContext ContextOf(grpc_call* call) const {
    const bool is_needed =
        parts_.certificates != nullptr || parts_.tokens != nullptr;
    return is_needed && call != nullptr ? AuthContextOf(call) : nullptr;
  }
  void NoteHttp(const Caller& caller) const {
    const identity::Identity* const identity = caller.access().identity();
    if (identity == nullptr || identity->token_id.empty()) return;
    parts_.http_clients->SetToken(caller.connection(), identity->name,
                                  identity->token_id, RoleName(identity->role));
  }

  const CallCheck check_;
  const GateParts parts_;
};

}  // namespace actord::daemon
