// Messages from outside to durable processes that are appended to the journal
// together: one reservation, so they are in one group and wait for one sync.
//
// A batch belongs to one sender. Each message is in the journal before it is in
// a mailbox, and messages to one process keep their order.
//
// Thread-safety: one thread, with its own lane. Ownership: owns the messages
// that were added and not sent; borrows everything else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/delivery/delivery.h"
#include "runtime/durable/durable_inputs.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/process/payload.h"
#include "runtime/records/records.h"
#include "runtime/scheduler/lane.h"

namespace actord::runtime {

class InputBatch {
 public:
  InputBatch(DurableProcesses& durable, DurableInputs& inputs,
             Delivery& delivery, Lane& lane)
      : durable_(durable), inputs_(inputs), delivery_(delivery), lane_(lane) {}
  // Drops the messages that were not sent. Their senders must not have been
  // answered.
  ~InputBatch();
  InputBatch(const InputBatch&) = delete;
  InputBatch& operator=(const InputBatch&) = delete;

  // Checks a message and keeps it for Send. Precondition: payload and topic are
  // within their limits. `item` names the message in Send. The errors are those
  // of Delivery::Send, and PAYLOAD_TOO_LARGE.
  absl::Status Add(Owner by, const Pid& to, const Message& message,
                   uint64_t item);

  // The size of the records of the messages, in bytes. The caller must send a
  // batch before it grows above a few MiB, because the journal reserves no more
  // at once.
  [[nodiscard]] size_t bytes() const { return bytes_.size(); }

  // Appends the messages and delivers them. Returns the position for which the
  // sender must wait before any message is acknowledged; 0: nothing was
  // appended. `delivered` is called after each delivered message, with the
  // bytes of its record; `ready` then has the process, which it may enqueue.
  // `refused` is called for each message that was not delivered: its mailbox
  // was full, its process had ended, or the journal takes no records.
  uint64_t Send(
      ReadyList& ready, absl::FunctionRef<void(size_t bytes)> delivered,
      absl::FunctionRef<void(uint64_t item, const absl::Status& why)> refused);

 private:
  struct Item {
    Pid to;
    Owner by = Owner::kAny;
    uint64_t item = 0;
    Envelope* envelope = nullptr;
    // The record in `bytes_`.
    size_t begin = 0;
    size_t size = 0;
  };

  DurableProcesses& durable_;
  DurableInputs& inputs_;
  Delivery& delivery_;
  Lane& lane_;
  std::vector<Item> items_;
  // The messages of this batch for each receiver, and their units.
  struct Waiting {
    uint64_t count = 0;
    uint64_t units = 0;
  };
  absl::flat_hash_map<Pid, Waiting> waiting_;
  // The payloads of the records, one after the other.
  std::string bytes_;
  records::Input input_{.kind = records::InputKind::kMessages,
                        .messages = {{}}};
};

}  // namespace actord::runtime
