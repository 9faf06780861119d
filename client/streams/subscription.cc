#include "client/streams/subscription.h"

#include <grpcpp/client_context.h>

#include <utility>

#include "client/streams/lasting_call.h"

namespace actord::client {

class TopicSubscription::Open {
 public:
  Open(const Endpoint& endpoint, TopicSubscriptionOptions options)
      : options_(std::move(options)),
        call_(endpoint, {.name = "the subscription",
                         .reconnect_delay = options_.reconnect_delay,
                         .max_reconnect_delay = options_.max_reconnect_delay,
                         .on_broken = options_.on_broken}) {}

  absl::Status Run(Cancellation& stop);

 private:
  void Tell(const v1::SubscribeResponse& response, const Cancellation& stop);
  void TellMissed(uint64_t count) const {
    if (options_.on_missed) options_.on_missed(count);
  }

  const TopicSubscriptionOptions options_;
  LastingCall call_;
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

absl::Status TopicSubscription::Open::Run(Cancellation& stop) {
  v1::SubscribeRequest request;
  for (const std::string& pattern : options_.patterns) {
    request.add_patterns(pattern);
  }
  return call_.Run<v1::SubscribeResponse>(
      stop,
      [&](v1::ActorService::Stub& stub, grpc::ClientContext* context) {
        return stub.Subscribe(context, request);
      },
      [&](const v1::SubscribeResponse& response, bool is_first) {
        if (is_first) {
          if (options_.on_connected) options_.on_connected();
          if (std::exchange(was_open_, true)) TellMissed(0);
        }
        Tell(response, stop);
        if (options_.on_told) options_.on_told();
        return !stop.cancelled();
      });
}

TopicSubscription::TopicSubscription(const Endpoint& endpoint,
                                     TopicSubscriptionOptions options)
    : open_(std::make_unique<Open>(endpoint, std::move(options))) {}
TopicSubscription::~TopicSubscription() = default;

absl::Status TopicSubscription::Run(Cancellation& stop) {
  return open_->Run(stop);
}

}  // namespace actord::client
