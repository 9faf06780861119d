// Sends many messages from outside, one after the other. The processes that
// become ready are enqueued in batches, with one wake-up for a batch: after at
// most 64 sends or when 64 KiB of payloads wait, and when a mailbox is full, so
// that its process can empty it.
//
// Thread-safety: one thread, which must not be a worker's. Ownership: borrows
// the runtime.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "runtime/delivery/delivery.h"
#include "runtime/runtime.h"

namespace actord::runtime {

class BulkSender {
 public:
  explicit BulkSender(Runtime& runtime) : core_(*runtime.core_) {}
  // Enqueues the remaining processes. Destroy the sender right after the last
  // send, because the processes of the last batch wait for that.
  ~BulkSender();
  BulkSender(const BulkSender&) = delete;
  BulkSender& operator=(const BulkSender&) = delete;

  // Like Runtime::Send.
  absl::Status Send(const Pid& to, const Message& message,
                    Owner by = Owner::kAny, uint64_t* position = nullptr,
                    const RequestId* id = nullptr);

 private:
  void Show();

  Runtime::Core& core_;
  ReadyList ready_;
  // Sends and their bytes since the last Show.
  size_t sends_ = 0;
  size_t bytes_ = 0;
};

}  // namespace actord::runtime
