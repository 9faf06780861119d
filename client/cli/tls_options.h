// The TLS options of actorctl: --tls-ca and its like, and their environment
// variables.
//
// Thread-safety: pure functions, apart from reading the files.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/calls/endpoint.h"

namespace CLI {
class App;
}

namespace actord::client {

// What was typed: paths, and a name.
struct TypedTls {
  std::string ca;
  std::string certificate;
  std::string key;
  std::string server_name;

  bool operator==(const TypedTls& other) const = default;
};

// What holds if something is neither typed nor in the environment.
struct DefaultTls {
  TypedTls tls;
  // For messages: "context prod".
  std::string origin;
};

void AddTlsOptions(CLI::App& app, TypedTls& typed);

// Takes what was not typed from `variable` (ACTORD_CLIENT_TLS_CA and its like),
// else from `otherwise`, and reads the files. A usage error names the option,
// the variable or the key, the file and what is wrong.
absl::StatusOr<TlsOptions> ReadTlsOptions(
    const TypedTls& typed,
    const std::function<std::string(const char*)>& variable,
    const DefaultTls& otherwise = {});

// What may be right if gRPC could not connect, and says `message`. "": the
// message says enough.
std::string HandshakeHint(const Endpoint& endpoint, std::string_view message);

}  // namespace actord::client
