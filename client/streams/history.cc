#include "client/streams/history.h"

#include <grpcpp/client_context.h>

#include "actord/v1/actor_service.grpc.pb.h"
#include "client/calls/connection.h"
#include "client/calls/error.h"

namespace actord::client {

absl::Status ReadHistory(
    const Endpoint& endpoint, const v1::ReadHistoryRequest& request,
    const CallOptions& options,
    const std::function<void(const v1::ReadHistoryResponse&)>& use) {
  absl::Status usable = CheckEndpoint(endpoint);
  if (!usable.ok()) return usable;
  const auto stub = v1::ActorService::NewStub(OpenChannel(endpoint));
  grpc::ClientContext context;
  AddToken(endpoint, context);
  SetDeadline(options.deadline, context);
  const Cancellation::Registration registration(
      options.cancellation, [&context] { context.TryCancel(); });
  const auto stream = stub->ReadHistory(&context, request);
  v1::ReadHistoryResponse response;
  while (stream->Read(&response)) use(response);
  return FromGrpc(stream->Finish());
}

}  // namespace actord::client
