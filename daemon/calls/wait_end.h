// The receiver of the result of a wait (waits.h).
#pragma once

#include <string>

#include "absl/status/status.h"

namespace actord::daemon {

template <typename Response>
class WaitEnd {
 public:
  // The call has started this process. A client of gRPC gets its PID at once,
  // because it may stop waiting before Finish. Called at most once, before
  // Finish, and never while the wait is being taken back.
  virtual void Started(const std::string& /*pid*/) {}
  // Called at most once, on any thread. `response` is complete if `status` is
  // OK. Afterwards the wait may be gone.
  virtual void Finish(const absl::Status& status, const Response& response) = 0;

 protected:
  ~WaitEnd() = default;
};

}  // namespace actord::daemon
