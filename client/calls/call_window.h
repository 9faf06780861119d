// Runs many asynchronous calls with a bounded number in flight. Calls with the
// same order key run one after the other, in the order of Add; a call that the
// daemon refuses for want of room is tried again after the delay that it asks
// for.
//
// A call is, at any time, in exactly one of these places:
//   behind   another call of its order key is not over yet
//   ready    waits for the window
//   running  an attempt is under way, or the delay before one
//   over     Over() has returned
//
// Thread-safety: every function may be called from any thread, and Add also
// from WindowedCall::Over. Ownership: shares the calls until they are over.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace actord::client {

// One call, which may take several attempts.
class WindowedCall {
 public:
  virtual ~WindowedCall() = default;
  // Begins an attempt. Calls `finished` exactly once, on any thread.
  virtual void Start(std::function<void(absl::Status)> finished) = 0;
  // Makes the attempt that is under way, if any, end soon.
  virtual void Cancel() = 0;
  // The call is over with the status of its last attempt, or CANCELLED if it
  // was never begun. Called exactly once. Must not block.
  virtual void Over(const absl::Status& status) = 0;
};

struct CallWindowOptions {
  size_t window = 256;  // calls in flight, at least 1
  // Further attempts of a call that ends with RESOURCE_EXHAUSTED and a retry
  // delay. The delay doubles with each, up to max_retry_delay.
  int max_retries = 12;
  absl::Duration max_retry_delay = absl::Seconds(2);
};

class CallWindow {
 public:
  explicit CallWindow(const CallWindowOptions& options);
  // Cancels what is left and waits for it.
  ~CallWindow();
  CallWindow(const CallWindow&) = delete;
  CallWindow& operator=(const CallWindow&) = delete;

  // Never blocks: what does not fit into the window is queued. `order_key` "":
  // in no order. After CancelAll the call is over at once.
  void Add(std::shared_ptr<WindowedCall> call, std::string order_key = "");

  // Waits until fewer than twice the window's calls are not over, so that a
  // producer stays ahead without queueing everything. False: not within
  // `timeout`.
  bool WaitForRoom(absl::Duration timeout);
  // Waits until every call is over. False: not within `timeout`.
  bool WaitUntilIdle(absl::Duration timeout);

  // Cancels everything, now and from now on.
  void CancelAll();

 private:
  class Core;
  // Shared with the attempts under way, whose last instructions may run after
  // the wait for them is over.
  const std::shared_ptr<Core> core_;
};

}  // namespace actord::client
