#include "runtime/bulk_sender.h"

#include "runtime/core.h"

namespace actord::runtime {

BulkSender::~BulkSender() { core_.scheduler.EnqueueAll(ready_); }

absl::Status BulkSender::Send(const Pid& to, const Message& message) {
  return core_.SendFromOutside(to, message, &ready_);
}

}  // namespace actord::runtime
