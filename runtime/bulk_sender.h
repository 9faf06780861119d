// Many sends from outside, one after the other. What they make ready is shown
// to the workers some of it at a time, with one wake-up instead of one for
// each.
//
// Thread-safety: one thread, and not a worker's. Ownership: borrows the
// runtime.
#pragma once

#include "absl/status/status.h"
#include "runtime/delivery.h"
#include "runtime/runtime.h"

namespace actord::runtime {

class BulkSender {
 public:
  explicit BulkSender(Runtime& runtime) : core_(*runtime.core_) {}
  // Shows what is left. Not to be kept longer than the sends take: until then
  // the processes that they have made ready may wait for it.
  ~BulkSender();
  BulkSender(const BulkSender&) = delete;
  BulkSender& operator=(const BulkSender&) = delete;

  // As Runtime's.
  absl::Status Send(const Pid& to, const Message& message);

 private:
  Runtime::Core& core_;
  ReadyList ready_;
};

}  // namespace actord::runtime
