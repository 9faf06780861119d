// The bare gRPC server that rpc-unary compares with actord: a callback service
// that answers each call at once, with the library's defaults.
//
// usage: actord_bench_echo [CERTIFICATE KEY CLIENT_CA] PORT_FILE
//
// With the paths of three PEM files it serves TLS, and requires a certificate
// of each client that CLIENT_CA has signed.
//
// Listens on a free port of the loopback interface, writes the port number to
// PORT_FILE, and serves until it is killed.
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_callback.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
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

std::string Read(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

std::shared_ptr<grpc::ServerCredentials> Credentials(char** argv) {
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_key_cert_pairs.push_back({Read(argv[2]), Read(argv[1])});
  options.pem_root_certs = Read(argv[3]);
  return grpc::SslServerCredentials(options);
}

}  // namespace

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (argc != 2 && argc != 5) {
    std::fprintf(stderr,
                 "usage: actord_bench_echo [CERTIFICATE KEY CLIENT_CA] "
                 "PORT_FILE\n");
    return 64;
  }
  EchoService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(
      "127.0.0.1:0",
      argc == 5 ? Credentials(argv) : grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (server == nullptr || !WritePort(argv[argc - 1], port)) {
    std::fprintf(stderr, "actord_bench_echo: cannot serve\n");
    return 69;
  }
  server->Wait();
  return 0;
}
