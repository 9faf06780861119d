// Many sends from outside, one after the other. What they make ready is shown
// to the workers some of it at a time, with one wake-up instead of one for
// each: before more than 64 sends or 64 KiB of payloads wait for it, and when a
// mailbox is full, so that its process comes to empty it.
//
// Thread-safety: one thread, and not a worker's. Ownership: borrows the
// runtime.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "runtime/inbox/delivery.h"
#include "runtime/runtime.h"

namespace actord::runtime {

class BulkSender {
 public:
  explicit BulkSender(Runtime& runtime) : core_(*runtime.core_) {}
  // Shows what is left. Not to be kept longer than the sends take: until then
  // the processes that the last of them have made ready wait for it.
  ~BulkSender();
  BulkSender(const BulkSender&) = delete;
  BulkSender& operator=(const BulkSender&) = delete;

  // As Runtime's.
  absl::Status Send(const Pid& to, const Message& message);

 private:
  void Show();

  Runtime::Core& core_;
  ReadyList ready_;
  // Since the last Show.
  size_t sends_ = 0;
  size_t bytes_ = 0;
};

}  // namespace actord::runtime
