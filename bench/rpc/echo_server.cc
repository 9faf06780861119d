// The bare gRPC server that rpc-unary compares with actord: a callback service
// that answers each call at once, with the library's defaults.
//
// usage: actord_bench_echo PORT_FILE
//
// Listens on a free port of the loopback interface, writes the port number to
// PORT_FILE, and serves until it is killed.
#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_callback.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/synchronization/mutex.h"
#include "bench/rpc/echo.grpc.pb.h"

namespace {

using actord::bench::EchoRequest;
using actord::bench::EchoResponse;

class EchoService final : public actord::bench::Echo::CallbackService {
 public:
  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context,
                                  const EchoRequest* request,
                                  EchoResponse* response) override {
    response->set_id(request->id());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

// Writes the file atomically, so that a reader sees the whole number or no
// file.
bool WritePort(const std::string& path, int port) {
  const std::string fresh = path + ".new";
  std::ofstream file(fresh);
  file << port << '\n';
  file.close();
  if (file.fail()) return false;
  std::error_code error;
  std::filesystem::rename(fresh, path, error);
  return !error;
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (argc != 2) {
    std::fprintf(stderr, "usage: actord_bench_echo PORT_FILE\n");
    return 64;
  }
  EchoService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (server == nullptr || !WritePort(argv[1], port)) {
    std::fprintf(stderr, "actord_bench_echo: cannot serve\n");
    return 69;
  }
  server->Wait();
  return 0;
}
