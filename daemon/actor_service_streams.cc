// The calls that are streams, and their end.
#include <memory>

#include "daemon/actor_service.h"
#include "daemon/send_stream.h"
#include "daemon/submit_stream.h"
#include "daemon/work_stream.h"
#include "runtime/errors.h"

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

void ActorService::CloseStreams() {
  streams_.CloseAll(runtime::Retryable(
      absl::StatusCode::kUnavailable, runtime::reason::kStopped,
      "the daemon has stopped", absl::Seconds(1)));
}

}  // namespace actord::daemon
