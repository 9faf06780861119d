// Sends many messages from outside, one after the other. The processes that
// become ready are enqueued in batches, with one wake-up for a batch: after at
// most 64 sends or when 64 KiB of payloads wait, and when a mailbox is full, so
// that its process can empty it.
//
// Messages to durable processes can also be collected (Add), and then be
// appended to the journal together.
//
// Thread-safety: one thread, which must not be a worker's. Ownership: borrows
// the runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/delivery/delivery.h"
#include "runtime/durable/input_batch.h"
#include "runtime/runtime.h"
#include "runtime/scheduler/spare_lanes.h"

namespace actord::runtime {

// The behaviour of Add while the journal is behind.
enum class WhenBehind : uint8_t {
  kRefuse,  // refuses messages to durable processes with JOURNAL_BEHIND
  kSend,    // the caller has waited before it began, and sends only one batch
};

class BulkSender {
 public:
  // Called for a message that Add has accepted and that was refused afterwards.
  using Refused =
      absl::FunctionRef<void(uint64_t item, const absl::Status& why)>;

  explicit BulkSender(Runtime& runtime,
                      WhenBehind when_behind = WhenBehind::kRefuse);
  // Enqueues the remaining processes. Destroy the sender right after the last
  // send, because the processes of the last batch wait for that.
  // Precondition: no message waits for Flush.
  ~BulkSender();
  BulkSender(const BulkSender&) = delete;
  BulkSender& operator=(const BulkSender&) = delete;

  // Like Runtime::Send. Precondition: no message waits for Flush.
  absl::Status Send(const Pid& to, const Message& message,
                    Owner by = Owner::kAny, uint64_t* position = nullptr,
                    const RequestId* id = nullptr);

  // Sends the message: at once, or with the next Flush if the receiver is
  // durable. OK and no call of `refused` for this item: the message is in the
  // mailbox after Flush. Errors: those of Runtime::Send.
  absl::Status Add(const Pid& to, const Message& message, Owner by,
                   uint64_t item, Refused refused);
  // Appends the waiting messages to the journal, together, and delivers them.
  void Flush(Refused refused);
  // When the record at this position is durable, all added messages and their
  // refusals are durable; 0: they are durable now.
  [[nodiscard]] uint64_t position() const { return position_; }

 private:
  // The part of Send after the check of its precondition.
  absl::Status SendNow(const Pid& to, const Message& message, Owner by,
                       uint64_t* position, const RequestId* id);
  [[nodiscard]] bool HasWaiting() const {
    return inputs_ && inputs_->bytes() != 0;
  }
  void Show();
  // Counts a send, and enqueues if enough of them are hidden.
  void Count(size_t bytes, bool is_full);

  Runtime::Core& core_;
  const WhenBehind when_behind_;
  TakenLane lane_;
  // Sends and their bytes since the last Show.
  size_t sends_ = 0;
  size_t bytes_ = 0;
  // Set when the first message to a durable process comes.
  std::optional<InputBatch> inputs_;
  uint64_t position_ = 0;
};

}  // namespace actord::runtime
