// A request to the admin port, and its answer, without the bytes of HTTP.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>
#include <string>

namespace actord::daemon {

struct AdminRequest {
  std::string method;  // "GET"
  std::string path;    // "/metrics", without the query
  std::string accept;  // the header Accept; "": there is none
};

struct AdminAnswer {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::string allow;  // the header Allow; "": there is none
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
