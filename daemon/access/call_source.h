// The facts of a call that its transport knows: gRPC, or the JSON API.
//
// Thread-safety: any thread. Ownership: borrows gRPC's context or the
// HttpSource, which must live until the call is finished.
#pragma once

#include <grpcpp/server_context.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

struct grpc_call;

namespace actord::daemon {

// A call that came over HTTP/1.1 (daemon/api/).
struct HttpSource {
  // Spelled as in gRPC: "ipv4:127.0.0.1:49152", "unix:".
  std::string peer;
  // The client is a program of the daemon's own user, on a Unix socket.
  bool is_local_user = false;
  // The values of all headers of that name.
  std::vector<std::string> authorization;
  std::vector<std::string> traceparent;
  std::vector<std::string> tracestate;
  absl::Time deadline = absl::InfiniteFuture();
  // The call completes the yield of a link that the daemon has signed
  // (daemon/links/). It needs no token, and must be CompleteYield.
  bool is_by_link = false;
  // The number of the connection (HttpClients); 0: it has none.
  uint64_t connection = 0;
};

class CallSource {
 public:
  explicit CallSource(grpc::CallbackServerContext& context)
      : context_(&context) {}
  explicit CallSource(const HttpSource& http) : http_(&http) {}

  // The client, as in HttpSource::peer; for people see ClientAddress.
  // Allocates.
  [[nodiscard]] std::string peer() const;
  // InfiniteFuture: the call has no deadline.
  [[nodiscard]] absl::Time deadline() const;

  // A value that a client may send more than once, or not at all. The text
  // lives as long as the source.
  struct Value {
    size_t count = 0;
    std::string_view text;  // if count is 1
  };
  [[nodiscard]] Value authorization() const;
  [[nodiscard]] Value traceparent() const;
  // All values, joined by commas, as the W3C recommendation Trace Context
  // demands.
  [[nodiscard]] std::string tracestate() const;

  // See HttpSource.
  [[nodiscard]] bool IsByLink() const {
    return context_ == nullptr && http_->is_by_link;
  }
  // HttpSource::connection; 0 also for a call that came through gRPC.
  [[nodiscard]] uint64_t http_connection() const {
    return context_ == nullptr ? http_->connection : 0;
  }
  // Whether the daemon's own user has made the call, over a Unix socket.
  [[nodiscard]] bool IsLocalUser() const;
  // gRPC's call; null: the call did not come through gRPC.
  [[nodiscard]] grpc_call* of_grpc() const {
    return context_ == nullptr ? nullptr : context_->c_call();
  }

 private:
  // One of the two is null.
  grpc::CallbackServerContext* context_ = nullptr;
  const HttpSource* http_ = nullptr;
};

}  // namespace actord::daemon
