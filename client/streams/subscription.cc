#include "client/streams/subscription.h"

#include <grpcpp/client_context.h>

#include <algorithm>
#include <utility>

#include "client/calls/connection.h"
#include "client/calls/error.h"
#include "client/streams/lasting_channel.h"

namespace actord::client {

class TopicSubscription::Open {
 public:
  Open(const Endpoint& endpoint, TopicSubscriptionOptions options)
      : endpoint_(endpoint),
        options_(std::move(options)),
        stub_(v1::ActorService::NewStub(
            OpenLastingChannel(endpoint, options_.reconnect_delay,
                               options_.max_reconnect_delay))) {}

  absl::Status Run(Cancellation& stop);

 private:
  // Runs one call to its end. Sets `served` if the daemon answered.
  grpc::Status Listen(Cancellation& stop, bool& served);
  void Tell(const v1::SubscribeResponse& response, const Cancellation& stop);
  void TellMissed(uint64_t count) const {
    if (options_.on_missed) options_.on_missed(count);
  }

  const Endpoint endpoint_;
  const TopicSubscriptionOptions options_;
  const std::unique_ptr<v1::ActorService::Stub> stub_;
  bool was_open_ = false;
};

void TopicSubscription::Open::Tell(const v1::SubscribeResponse& response,
                                   const Cancellation& stop) {
  for (const v1::Publication& publication : response.publications()) {
    if (stop.cancelled()) return;
    if (publication.missed() != 0) TellMissed(publication.missed());
    if (options_.on_publication) options_.on_publication(publication);
  }
  if (response.missed() != 0 && !stop.cancelled()) {
    TellMissed(response.missed());
  }
}

grpc::Status TopicSubscription::Open::Listen(Cancellation& stop, bool& served) {
  v1::SubscribeRequest request;
  for (const std::string& pattern : options_.patterns) {
    request.add_patterns(pattern);
  }
  grpc::ClientContext context;
  AddToken(endpoint_, context);
  const Cancellation::Registration registration(
      &stop, [&context] { context.TryCancel(); });
  const auto stream = stub_->Subscribe(&context, request);
  v1::SubscribeResponse response;
  while (stream->Read(&response)) {
    if (!std::exchange(served, true)) {
      if (options_.on_connected) options_.on_connected();
      if (std::exchange(was_open_, true)) TellMissed(0);
    }
    Tell(response, stop);
    if (options_.on_told) options_.on_told();
    if (stop.cancelled()) context.TryCancel();
  }
  return stream->Finish();
}

absl::Status TopicSubscription::Open::Run(Cancellation& stop) {
  absl::Status usable = CheckEndpoint(endpoint_);
  if (!usable.ok()) return usable;
  absl::Duration delay = options_.reconnect_delay;
  while (!stop.cancelled()) {
    bool served = false;
    const grpc::Status status = Listen(stop, served);
    if (stop.cancelled()) break;
    if (!status.ok() && !IsWorthAnotherTry(status)) return FromGrpc(status);
    if (served) delay = options_.reconnect_delay;
    const absl::Status why =
        status.ok()
            ? absl::UnavailableError("the daemon has ended the subscription")
            : FromGrpc(status);
    // A retry sooner than the daemon asks for is useless.
    const absl::Duration pause =
        std::max(delay, DetailsOf(why).retry_delay.value_or(delay));
    if (options_.on_broken) options_.on_broken(why, pause);
    Pause(pause, stop);
    delay = std::min(2 * delay, options_.max_reconnect_delay);
  }
  return absl::OkStatus();
}

TopicSubscription::TopicSubscription(const Endpoint& endpoint,
                                     TopicSubscriptionOptions options)
    : open_(std::make_unique<Open>(endpoint, std::move(options))) {}
TopicSubscription::~TopicSubscription() = default;

absl::Status TopicSubscription::Run(Cancellation& stop) {
  return open_->Run(stop);
}

}  // namespace actord::client
