// The receiver of the result of a wait (waits.h).
#pragma once

#include "absl/status/status.h"

namespace actord::daemon {

template <typename Response>
class WaitEnd {
 public:
  // Called at most once, on any thread. `response` is complete if `status` is
  // OK. Afterwards the wait may be gone.
  virtual void Finish(const absl::Status& status, const Response& response) = 0;

 protected:
  ~WaitEnd() = default;
};

}  // namespace actord::daemon
