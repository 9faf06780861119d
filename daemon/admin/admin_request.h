// A request to the admin port, and its answer, without the bytes of HTTP.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actord::daemon {

// The HTTP status of a refusal after which the client may try again.
inline constexpr unsigned kServiceUnavailable = 503;

struct AdminRequest {
  std::string method;  // "GET"
  std::string path;    // "/metrics", without the query
  std::string accept;  // the header Accept; "": there is none
  // The header If-None-Match; "": there is none.
  std::string if_none_match = {};

  // The rest is set for the requests that AdminCalls takes.
  std::string query = {};  // "a=1&b=2"; "": there is none
  // The names are in lower case.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  // Spelled as in gRPC: "ipv4:127.0.0.1:49152", "unix:".
  std::string peer;
  // The client is a program of the daemon's own user, on a Unix socket.
  bool is_local_user = false;
  // The number of the connection (HttpClients); 0: it has none.
  uint64_t connection = 0;

  // The values of all headers with this name, which is in lower case.
  [[nodiscard]] std::vector<std::string> HeadersOf(
      std::string_view name) const {
    std::vector<std::string> values;
    for (const auto& [header, value] : headers) {
      if (header == name) values.push_back(value);
    }
    return values;
  }
};

struct AdminAnswer {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::string allow;  // the header Allow; "": there is none
  std::vector<std::pair<std::string, std::string>> headers = {};  // more ones
  // An answer may come in parts: a first one, next ones and a last one. Only
  // the first part has a status and headers, and each has a piece of the body.
  // The connection ends after the last part.
  enum class Part { kWhole, kFirst, kNext, kLast };
  Part part = Part::kWhole;
};

// Counts of the admin port since its start.
struct AdminCounts {
  uint64_t connections_open = 0;
  // Connections that were closed to make room, or at once.
  uint64_t connections_refused = 0;
  uint64_t requests = 0;
  // Requests that were not HTTP, were too large, or had a host that is not
  // allowed.
  uint64_t requests_refused = 0;
};

}  // namespace actord::daemon
