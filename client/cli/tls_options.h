// The TLS options of actorctl, such as --tls-ca, and their environment
// variables.
//
// Thread-safety: pure functions, apart from reading the files.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "client/calls/endpoint.h"

namespace CLI {
class App;
}

namespace actord::client {

// The options on the command line: paths, and a name.
struct TypedTls {
  std::string ca;
  std::string certificate;
  std::string key;
  std::string server_name;

  bool operator==(const TypedTls& other) const = default;
};

// The values of options that are neither typed nor in the environment.
struct DefaultTls {
  TypedTls tls;
  // For messages: "context prod".
  std::string origin;
};

void AddTlsOptions(CLI::App& app, TypedTls& typed);

// Takes an option that was not typed from `variable` (such as
// ACTORD_CLIENT_TLS_CA), else from `otherwise`, reads the files, and checks
// them but for the dates of the certificates (unreached.h names an expired
// one). A usage error names the option, the variable or the key, the file and
// the mistake.
absl::StatusOr<TlsOptions> ReadTlsOptions(
    const TypedTls& typed,
    const std::function<std::string(const char*)>& variable,
    const DefaultTls& otherwise = {});

}  // namespace actord::client
