#include "runtime/bulk_sender.h"

#include <algorithm>

#include "runtime/core.h"
#include "runtime/system/assert.h"
#include "runtime/table/home_pid.h"

namespace actord::runtime {

namespace {

constexpr size_t kMaxHiddenSends = 64;
constexpr size_t kMaxHiddenBytes = 64 << 10;
// Records that are appended together.
constexpr size_t kMaxInputBytes = 1 << 20;

}  // namespace

BulkSender::BulkSender(Runtime& runtime, WhenBehind when_behind)
    : core_(*runtime.core_),
      when_behind_(when_behind),
      lane_(core_.spare_lanes) {}

BulkSender::~BulkSender() {
  ACTORD_ASSERT(!HasWaiting(), "bulk_sender.h: no message waits for Flush");
  Show();
}

absl::Status BulkSender::Send(const Pid& to, const Message& message, Owner by,
                              uint64_t* position, const RequestId* id) {
  ACTORD_ASSERT_HOT(!HasWaiting(), "bulk_sender.h: no message waits for Flush");
  return SendNow(to, message, by, position, id);
}

absl::Status BulkSender::SendNow(const Pid& to, const Message& message,
                                 Owner by, uint64_t* position,
                                 const RequestId* id) {
  absl::Status status =
      core_.SendFromOutside(by, to, message, &lane_, id).Tell(position);
  // RESOURCE_EXHAUSTED mostly means a full mailbox.
  Count(message.payload.bytes.size(), absl::IsResourceExhausted(status));
  return status;
}

absl::Status BulkSender::Add(const Pid& to, const Message& message, Owner by,
                             uint64_t item, Refused refused) {
  if (!IsHomePid(to) || core_.durable == nullptr) {
    return SendNow(to, message, by, nullptr, nullptr);
  }
  absl::Status status = core_.CheckMessage(message);
  status.Update(when_behind_ == WhenBehind::kRefuse
                    ? core_.durable->CheckRoom()
                    : core_.durable->CheckFull());
  if (!status.ok()) return status;
  if (!inputs_) {
    inputs_.emplace(*core_.durable, *core_.durable_inputs, core_.delivery,
                    lane_.lane());
  }
  status = inputs_->Add(by, to, message, item);
  // The process gets the messages that were held back, so that it can empty its
  // mailbox.
  const bool is_full = absl::IsResourceExhausted(status);
  if (is_full || inputs_->bytes() >= kMaxInputBytes) Flush(refused);
  if (is_full) Show();
  return status;
}

void BulkSender::Flush(Refused refused) {
  if (!inputs_) return;
  const uint64_t position = inputs_->Send(
      lane_.ready(), [this](size_t bytes) { Count(bytes, /*is_full=*/false); },
      refused);
  position_ = std::max(position_, position);
}

void BulkSender::Count(size_t bytes, bool is_full) {
  ++sends_;
  bytes_ += bytes;
  if (sends_ == kMaxHiddenSends || bytes_ >= kMaxHiddenBytes || is_full) {
    Show();
  }
}

void BulkSender::Show() {
  core_.scheduler.EnqueueAll(lane_.ready());
  sends_ = 0;
  bytes_ = 0;
}

}  // namespace actord::runtime
