// Where a daemon is, and how a client proves to it who it is.
//
// Thread-safety: values and pure functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace actord::client {

struct Endpoint {
  // A text alone is an address, for a client without a token.
  Endpoint(std::string at, std::string with_token = "")  // NOLINT
      : address(std::move(at)), token(std::move(with_token)) {}
  Endpoint(const char* at) : address(at) {}  // NOLINT

  // "host:port", "[ipv6]:port" or "unix:/path".
  std::string address;
  // A secret, sent with each call; "": none. token_file.h reads one.
  std::string token;
};

// OK if the token may be sent to the address. FAILED_PRECONDITION: the
// connection would be plain text over a network, so that others could read the
// token. Each call to such an endpoint fails with this error, and nothing is
// sent. A Unix socket, 127.0.0.0/8, [::1] and localhost stay on the machine.
absl::Status CheckEndpoint(const Endpoint& endpoint);

}  // namespace actord::client
