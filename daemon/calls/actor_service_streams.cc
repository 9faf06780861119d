// The calls that are streams, and their end.
#include <memory>
#include <utility>

#include "daemon/calls/actor_service.h"
#include "daemon/streams/send_stream.h"
#include "daemon/streams/submit_stream.h"
#include "daemon/streams/watch_stream.h"
#include "daemon/streams/work_stream.h"
#include "daemon/wire/rpc_message.h"
#include "runtime/process/errors.h"

namespace actord::daemon {

ActorService::StreamReactor* ActorService::Work(Context* /*call*/) {
  return Stream::Begin(std::make_shared<WorkStream>(runtime_, streams_));
}

ActorService::StreamReactor* ActorService::SendStream(Context* /*call*/) {
  return Stream::Begin(std::make_shared<daemon::SendStream>(
      runtime_, context_.message_ids, streams_));
}

ActorService::StreamReactor* ActorService::SubmitStream(Context* /*call*/) {
  return Stream::Begin(std::make_shared<daemon::SubmitStream>(
      runtime_, context_.request_ids, streams_));
}

ActorService::WriteReactor* ActorService::WatchProcesses(Context* /*call*/,
                                                         const Bytes* in) {
  v1::WatchProcessesRequest request;
  absl::Status status = ReadMessage(*in, &request);
  absl::StatusOr<WatchOrder> order =
      status.ok() ? ReadWatch(request, runtime_.options().incarnation) : status;
  auto stream = std::make_shared<WatchStream>(runtime_, streams_);
  status = order.ok() ? stream->Open(*std::move(order)) : order.status();
  if (!status.ok()) stream->End(status);
  return Stream::Begin(std::move(stream));
}

void ActorService::CloseStreams() {
  streams_.CloseAll(runtime::Retryable(
      absl::StatusCode::kUnavailable, runtime::reason::kStopped,
      "the daemon has stopped", absl::Seconds(1)));
}

}  // namespace actord::daemon
