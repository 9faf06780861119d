// A unary call that is answered at once.
//
// Thread-safety: as the handler's.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "absl/status/status.h"
#include "daemon/wire/rpc_message.h"
#include "daemon/wire/status_mapping.h"

namespace actord::daemon {

// Ends the call with `status`, and with `response` if that is OK. Exactly once
// for each call; `reactor` may be gone afterwards.
template <typename Response>
void FinishCall(const absl::Status& status, const Response& response,
                grpc::ByteBuffer* out, grpc::ServerUnaryReactor* reactor) {
  reactor->Finish(
      ToGrpcStatus(status.ok() ? WriteMessage(response, out) : status));
}

// Parses the request, runs `handler(Request&, Response&) -> absl::Status`, and
// ends the call. No allocation of its own; the handler must not block.
template <typename Request, typename Response, typename Handler>
grpc::ServerUnaryReactor* AnswerCall(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* in,
                                     grpc::ByteBuffer* out, Handler handler) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  Request request;
  Response response;
  absl::Status status = ReadMessage(*in, &request);
  if (status.ok()) status = handler(request, response);
  FinishCall(status, response, out, reactor);
  return reactor;
}

}  // namespace actord::daemon
