// Two servers under the same load, in turn: actord's Send to an idle process
// and a bare gRPC server.
//
// Thread-safety: one thread.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <functional>
#include <memory>

#include "bench/rpc/server_process.h"
#include "bench/workload.h"

namespace actord::bench {

// A server, which is borrowed, and a connection to it.
struct Compared {
  const ServerProcess& server;
  std::shared_ptr<grpc::Channel> channel;
};

// Compares with 1 and with 64 calls in flight, and checks that each message was
// received once. `prepare` is called with the context of each call, so that
// both servers get the same headers.
Json CompareUnary(const Compared& bare, const Compared& actord,
                  const std::function<void(grpc::ClientContext&)>& prepare);

}  // namespace actord::bench
