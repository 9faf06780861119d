// Messages from outside to durable processes that are appended to the journal
// together: one reservation, so they are in one group and wait for one sync.
//
// A batch belongs to one sender. Each message is in the journal before it is in
// a mailbox, and messages to one process keep their order.
//
// Thread-safety: one thread, with its own lane. Ownership: borrows all but the
// messages that were added and not sent.
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
  // Drops the messages that were not sent. Nobody may have been told of them.
  ~InputBatch();
  InputBatch(const InputBatch&) = delete;
  InputBatch& operator=(const InputBatch&) = delete;

  // Checks a message and keeps it for Send. Precondition: payload and topic are
  // within their limits. `item` names the message in Send. The errors are those
  // of Delivery::Send, and PAYLOAD_TOO_LARGE.
  absl::Status Add(Owner by, const Pid& to, const Message& message,
                   uint64_t item);

  // What the records of the messages take, in bytes. The caller sends a batch
  // before it grows above a few MiB: the journal reserves no more together.
  [[nodiscard]] size_t bytes() const { return bytes_.size(); }

  // Appends the messages and delivers them. Returns the position that the
  // sender waits for before it is told of any of them; 0: nothing was appended.
  // `delivered` is called after each message that was delivered, with the bytes
  // of its record, and may enqueue what `ready` holds, which gets the process.
  // `refused` is called for each message that was not: its mailbox was full,
  // its process had ended, or the journal takes nothing.
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
