// The gRPC parts that Client and Bulk share; not for users of the library.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "client/calls/client.h"
#include "client/calls/endpoint.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace grpc {
class ClientContext;
}

namespace actord::client {

// A channel with its own connection: by default gRPC shares one connection
// among all channels to an address. `arguments` are added to those of every
// channel.
std::shared_ptr<grpc::Channel> OpenChannel(
    const Endpoint& endpoint, grpc::ChannelArguments arguments = {});

// Puts the token of the endpoint, if there is one, into the metadata of a call.
// Does nothing if CheckEndpoint returns an error: that call must not be made.
void AddToken(const Endpoint& endpoint, grpc::ClientContext& context);

// Leaves the context without a deadline when `deadline` is infinite.
void SetDeadline(absl::Time deadline, grpc::ClientContext& context);

struct Client::Connection {
  Endpoint endpoint;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::ActorService::Stub> actors;
  std::unique_ptr<grpc::health::v1::Health::Stub> health;
};

}  // namespace actord::client
