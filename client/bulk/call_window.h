// Runs many asynchronous calls with a bounded number in flight. Calls with the
// same order key run one after the other, in the order of Add. A call that the
// daemon refuses for now (IsRefusedForNow) is retried after the delay that the
// daemon asks for.
//
// At any time, a call is in exactly one of these states:
//   behind   an earlier call of its order key is not over
//   ready    it waits for the window
//   running  an attempt, or the delay before one, is under way
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
  // Makes the attempt under way, if any, end soon.
  virtual void Cancel() = 0;
  // The call is over, with the status of its last attempt, or with CANCELLED if
  // no attempt was begun. Called exactly once. Must not block.
  virtual void Over(const absl::Status& status) = 0;
};

struct CallWindowOptions {
  size_t window = 256;  // calls in flight, at least 1
  // Retries of a call that IsRefusedForNow (error.h), with a retry delay. The
  // delay doubles with each retry, up to max_retry_delay.
  int max_retries = 12;
  absl::Duration max_retry_delay = absl::Seconds(2);
};

class CallWindow {
 public:
  explicit CallWindow(const CallWindowOptions& options);
  // Cancels the remaining calls and waits for them.
  ~CallWindow();
  CallWindow(const CallWindow&) = delete;
  CallWindow& operator=(const CallWindow&) = delete;

  // Never blocks: a call for which the window has no room is queued. An
  // `order_key` of "" means no order. After CancelAll the call is over at once.
  void Add(std::shared_ptr<WindowedCall> call, std::string order_key = "");

  // Waits until the backlog is below twice the window, so that a producer stays
  // ahead without queueing everything. False: `timeout` has passed.
  bool WaitForRoom(absl::Duration timeout);
  // Waits until every call is over. False: `timeout` has passed.
  bool WaitUntilIdle(absl::Duration timeout);

  // Cancels all calls, present and future.
  void CancelAll();

 private:
  class Core;
  // Shared with the attempts under way, which may execute their last
  // instructions after Wait has returned.
  const std::shared_ptr<Core> core_;
};

}  // namespace actord::client
