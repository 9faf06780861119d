// The bare gRPC server that rpc-unary and durable_unary compare with actord: a
// callback service that answers each call at once, with the library's defaults,
// or after an append to a file beside PORT_FILE, and a sync.
//
// usage: actord_bench_echo [CERTIFICATE KEY CLIENT_CA] PORT_FILE
//
// With the paths of three PEM files it serves TLS, and requires a certificate
// of each client that CLIENT_CA has signed.
//
// Listens on a free port of the loopback interface, writes the port number to
// PORT_FILE, and serves until it is killed.
#include <fcntl.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_callback.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "bench/rpc/echo.grpc.pb.h"

namespace {

using actord::bench::EchoRequest;
using actord::bench::EchoResponse;

// A file that was filled with zeros, so that an append changes no length.
class SyncedFile {
 public:
  explicit SyncedFile(std::string path) : path_(std::move(path)) {}
  SyncedFile(const SyncedFile&) = delete;
  SyncedFile& operator=(const SyncedFile&) = delete;
  ~SyncedFile() {
    if (file_ >= 0) close(file_);
  }

  // True: the bytes are on the disk. The first call makes the file.
  bool Append(const std::string& bytes) {
    const absl::MutexLock lock(&mutex_);
    if (file_ < 0 && !Make()) return false;
    if (place_ + bytes.size() > kBytes) place_ = 0;
    const auto at = static_cast<off_t>(place_);
    place_ += bytes.size();
    return pwrite(file_, bytes.data(), bytes.size(), at) ==
               static_cast<ssize_t>(bytes.size()) &&
           fdatasync(file_) == 0;
  }

 private:
  static constexpr size_t kBytes = 16 << 20;

  bool Make() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const std::string zeros(kBytes, '\0');
    return file_ >= 0 &&
           pwrite(file_, zeros.data(), kBytes, 0) ==
               static_cast<ssize_t>(kBytes) &&
           fdatasync(file_) == 0;
  }

  const std::string path_;
  absl::Mutex mutex_;
  int file_ ABSL_GUARDED_BY(mutex_) = -1;
  size_t place_ ABSL_GUARDED_BY(mutex_) = 0;
};

class EchoService final : public actord::bench::Echo::CallbackService {
 public:
  explicit EchoService(std::string path) : file_(std::move(path)) {}

  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context,
                                  const EchoRequest* request,
                                  EchoResponse* response) override {
    response->set_id(request->id());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* UnaryWithSync(grpc::CallbackServerContext* context,
                                          const EchoRequest* request,
                                          EchoResponse* response) override {
    response->set_id(request->id());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(file_.Append(request->data())
                        ? grpc::Status::OK
                        : grpc::Status(grpc::StatusCode::DATA_LOSS,
                                       "the file cannot be written"));
    return reactor;
  }

 private:
  SyncedFile file_;
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
  const char* const port_file = argv[argc - 1];
  EchoService service(std::string(port_file) + ".synced");
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(
      "127.0.0.1:0",
      argc == 5 ? Credentials(argv) : grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (server == nullptr || !WritePort(port_file, port)) {
    std::fprintf(stderr, "actord_bench_echo: cannot serve\n");
    return 69;
  }
  server->Wait();
  return 0;
}
