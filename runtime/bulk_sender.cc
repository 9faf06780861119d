#include "runtime/bulk_sender.h"

#include "runtime/core.h"

namespace actord::runtime {

namespace {

constexpr size_t kMaxHiddenSends = 64;
constexpr size_t kMaxHiddenBytes = 64 << 10;

}  // namespace

BulkSender::~BulkSender() { Show(); }

absl::Status BulkSender::Send(const Pid& to, const Message& message, Owner by,
                              uint64_t* position, const RequestId* id) {
  absl::Status status =
      core_.SendFromOutside(by, to, message, &ready_, id).Tell(position);
  ++sends_;
  bytes_ += message.payload.bytes.size();
  // RESOURCE_EXHAUSTED mostly means a full mailbox.
  if (sends_ == kMaxHiddenSends || bytes_ >= kMaxHiddenBytes ||
      absl::IsResourceExhausted(status)) {
    Show();
  }
  return status;
}

void BulkSender::Show() {
  core_.scheduler.EnqueueAll(ready_);
  sends_ = 0;
  bytes_ = 0;
}

}  // namespace actord::runtime
