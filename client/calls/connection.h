// What Client and Bulk share of gRPC; not for users of the library.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "client/calls/client.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace grpc {
class ClientContext;
}

namespace actord::client {

// A channel of its own: gRPC would otherwise share one connection among all
// channels to an address. `arguments`: beside those that every channel has.
std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& address, grpc::ChannelArguments arguments = {});

// Leaves the context without a deadline when `deadline` is infinite.
void SetDeadline(absl::Time deadline, grpc::ClientContext& context);

struct Client::Connection {
  std::string address;
  std::unique_ptr<v1::ActorService::Stub> actors;
  std::unique_ptr<grpc::health::v1::Health::Stub> health;
};

}  // namespace actord::client
