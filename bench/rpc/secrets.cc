#include "bench/rpc/secrets.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "bench/bench_runtime.h"
#include "bench/program_files.h"
#include "bench/workload.h"

namespace actord::bench {

Secrets::Secrets() {
  directory_ =
      (std::filesystem::temp_directory_path() / "actord-secrets-XXXXXX")
          .string();
  if (mkdtemp(directory_.data()) == nullptr) {
    Fail("cannot make a temporary directory");
  }
  Run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
      "-nodes -keyout ca.key -out ca.pem -days 90 -subj /CN=authority "
      "-addext keyUsage=critical,keyCertSign");
  Issue("server");
  Issue("client");
  Run(ProgramPath("actorctl") +
      " token new --file tokens.toml --name bench --role client "
      "--submit 'bench.*' --send 'bench.*' > token");
  Run("chmod 600 server.key tokens.toml");
  bearer_ = "Bearer " + Read("token");
  while (!bearer_.empty() && bearer_.back() == '\n') bearer_.pop_back();
}

Secrets::~Secrets() {
  // A file that stays in /tmp does no harm.
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void Secrets::Run(const std::string& command) const {
  const std::string line = "cd '" + directory_ + "' && (" + command +
                           ") 2>errors || { cat errors >&2; false; }";
  if (std::system(line.c_str()) != 0) Fail("this command failed: " + command);
}

void Secrets::Issue(const std::string& name) const {
  Run("openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
      "-nodes -keyout " +
      name + ".key -out " + name + ".csr -subj /CN=" + name);
  Run("echo subjectAltName=IP:127.0.0.1,DNS:" + name + " > " + name + ".ext");
  Run("openssl x509 -req -in " + name + ".csr -CA ca.pem -CAkey ca.key " +
      "-CAcreateserial -days 90 -extfile " + name + ".ext -out " + name +
      ".pem");
}

std::string Secrets::Read(const std::string& name) const {
  std::ifstream file(In(name));
  std::string content((std::istreambuf_iterator<char>(file)),
                      std::istreambuf_iterator<char>());
  if (content.empty()) Fail("cannot read " + In(name));
  return content;
}

std::vector<std::string> Secrets::EchoArguments() const {
  return {In("server.pem"), In("server.key"), In("ca.pem")};
}

std::vector<std::string> Secrets::DaemonArguments() const {
  return {"--tls-certificate", In("server.pem"), "--tls-key", In("server.key"),
          "--tls-client-ca", In("ca.pem"), "--auth-tokens", In("tokens.toml"),
          // Quotas that each call counts against and none reaches.
          "--quota-requests-per-second", "10000000", "--quota-bytes-per-second",
          "1024GiB", "--quota-connections", "1000", "--quota-processes", "1000",
          "--quota-mailbox-bytes", "1024GiB"};
}

std::shared_ptr<grpc::ChannelCredentials> Secrets::ClientCredentials() const {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = Read("ca.pem");
  options.pem_private_key = Read("client.key");
  options.pem_cert_chain = Read("client.pem");
  return grpc::SslCredentials(options);
}

}  // namespace actord::bench
