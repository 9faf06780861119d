// Requests to the admin port that another thread answers, perhaps much later.
//
// Thread-safety: see each function.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "daemon/admin/admin_request.h"

namespace actord::daemon {

// One request. The functions are for the server's thread, and do not block.
class AdminCall {
 public:
  virtual ~AdminCall() = default;

  enum class Why { kDeadline, kClientGone };
  // The answer is no longer waited for. The call may still be answered.
  virtual void End(Why why) = 0;
  // The time after which the server must call End.
  [[nodiscard]] virtual std::chrono::milliseconds patience() const = 0;
  // The first or a next part of an answer has been written. The call must not
  // answer with another part before, except the last one.
  virtual void Written() {}
};

// The functions are for the server's thread, and do not block.
class AdminCalls {
 public:
  virtual ~AdminCalls() = default;

  // Whether requests for this path are answered here.
  [[nodiscard]] virtual bool Takes(std::string_view path) const = 0;
  // The largest body of all paths, and of one path.
  [[nodiscard]] virtual size_t max_body_bytes() const = 0;
  [[nodiscard]] virtual size_t MaxBodyBytesOf(std::string_view path) const = 0;
  // Called exactly once with the answer, or with each part of the answer, on
  // any thread, perhaps before Begin returns; or never, if the daemon ends
  // before.
  using Done = std::function<void(AdminAnswer)>;
  // Begins to answer the request.
  virtual std::shared_ptr<AdminCall> Begin(AdminRequest request, Done done) = 0;
};

}  // namespace actord::daemon
