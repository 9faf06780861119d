// Named contexts: the addresses of daemons, and the ways in which actorctl
// reaches them.
//
//   # a comment
//   use = "staging"
//   [context."staging"]
//   address = "actord.staging.example:7600"
//   tls_ca = "/home/me/staging/ca.pem"
//   token_file = "/home/me/staging/ops.token"
//   timeout = "10s"
//
// Thread-safety: values and pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/tls_options.h"

namespace actord::client {

inline constexpr size_t kMaxContexts = 1000;
inline constexpr size_t kMaxContextsBytes = size_t{1} << 20;
inline constexpr size_t kMaxContextNameBytes = 64;

struct Context {
  // As for --address. Never empty.
  std::string address;
  // All paths are absolute; "": not set.
  std::string token_file;
  TypedTls tls;
  // As for --timeout; "": not set.
  std::string timeout;

  bool operator==(const Context& other) const = default;
};

struct Contexts {
  // The name of the context that is used if none is named; "": there is none.
  std::string use;
  std::map<std::string, Context> all;

  bool operator==(const Contexts& other) const = default;
};

// OK for 1 to 64 letters, digits, '.', '_' and '-'. Else a usage error.
absl::Status CheckContextName(std::string_view name);
// OK if every value is valid; otherwise the message begins with the key of the
// wrong value.
absl::Status CheckContext(const Context& context);

// The context `name`. A usage error lists the contexts in `path`.
absl::StatusOr<Context> FindContext(const Contexts& contexts,
                                    const std::string& name,
                                    const std::string& path);

// The contexts in the text of a file. A usage error names `path` and the line.
absl::StatusOr<Contexts> ParseContexts(std::string_view text,
                                       const std::string& path);
// The text of a file with these contexts.
std::string ContextsText(const Contexts& contexts);

}  // namespace actord::client
