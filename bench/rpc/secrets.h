// Certificates and a token for one benchmark, in a directory of its own, made
// by the programs `openssl` and `actorctl`.
//
// Thread-safety: one thread. Ownership: owns the directory, and removes it.
// Made before other threads run, because programs are started by fork.
#pragma once

#include <grpcpp/security/credentials.h>

#include <memory>
#include <string>
#include <vector>

namespace actord::bench {

class Secrets {
 public:
  // Fails, and so ends the benchmark, if a program is missing or fails.
  Secrets();
  ~Secrets();
  Secrets(const Secrets&) = delete;
  Secrets& operator=(const Secrets&) = delete;

  // Arguments with which the servers require a certificate of each client. The
  // daemon also requires the token.
  [[nodiscard]] std::vector<std::string> EchoArguments() const;
  [[nodiscard]] std::vector<std::string> DaemonArguments() const;

  // With the client's certificate.
  [[nodiscard]] std::shared_ptr<grpc::ChannelCredentials> ClientCredentials()
      const;
  // The content of the header "authorization".
  [[nodiscard]] const std::string& Bearer() const { return bearer_; }

 private:
  void Run(const std::string& command) const;
  void Issue(const std::string& name) const;
  [[nodiscard]] std::string Read(const std::string& name) const;
  [[nodiscard]] std::string In(const std::string& name) const {
    return directory_ + "/" + name;
  }

  std::string directory_;
  std::string bearer_;
};

}  // namespace actord::bench
