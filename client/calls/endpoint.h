// The address of a daemon, the protection of the connection, and the client's
// proof of identity.
//
// Thread-safety: values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace actord::client {

// All texts except the name are contents of PEM files.
struct TlsOptions {
  // The authorities, one of which has signed the daemon's certificate. "": the
  // connection has no TLS.
  std::string ca;
  // The client's certificate and its key, for a daemon that requires one; both
  // or neither.
  std::string certificate;
  std::string key;
  // The name that the daemon's certificate must have. "": the host of the
  // address.
  std::string server_name;
};

struct Endpoint {
  // A plain text is the address, for a client with neither token nor TLS.
  Endpoint(std::string at, std::string with_token = "",  // NOLINT
           TlsOptions with_tls = {})
      : address(std::move(at)),
        token(std::move(with_token)),
        tls(std::move(with_tls)) {}
  Endpoint(const char* at) : address(at) {}  // NOLINT

  // A Unix socket has no TLS, regardless of `tls`.
  [[nodiscard]] bool has_tls() const {
    return !tls.ca.empty() && !address.starts_with("unix:");
  }

  // "host:port", "[ipv6]:port" or "unix:/path".
  std::string address;
  // A secret, sent with each call; "": none. token_file.h reads one.
  std::string token;
  TlsOptions tls;
};

// OK if the token may be sent to the address. FAILED_PRECONDITION: the
// connection would be plain text over a network, so that others could read the
// token. Each call to such an endpoint fails with this error, and nothing is
// sent. TLS hides the token. A Unix socket, 127.0.0.0/8, [::1] and localhost
// stay on the machine.
absl::Status CheckEndpoint(const Endpoint& endpoint);

}  // namespace actord::client
