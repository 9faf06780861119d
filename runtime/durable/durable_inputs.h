// What durable processes accept from outside the durable set. An input is in
// the journal before it is in the mailbox; its sender is told when its
// record is durable.
//
// Thread-safety: any thread, with its own lane.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "runtime/delivery/delivery.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/process/payload.h"
#include "runtime/scheduler/lane.h"

namespace actord::runtime {

class DurableInputs {
 public:
  // All are borrowed.
  DurableInputs(DurableProcesses& durable, Delivery& delivery,
                ProcessTable& processes)
      : durable_(durable), delivery_(delivery), processes_(processes) {}

  // The fate of an input. Its sender is told when the record at `position` is
  // durable; 0: it is told at once. That holds for an error, too.
  struct Sent {
    absl::Status status;
    uint64_t position = 0;
  };
  // Sends all messages or none: as Delivery::SendAll, for a durable process.
  Sent SendAll(Owner by, const Pid& to, std::span<const Message> messages,
               Lane& lane, ReadyList* ready = nullptr);
  // A cancel or a terminate: as Delivery::Control.
  Sent Control(Owner by, const Pid& to, uint16_t type, std::string_view reason,
               Lane& lane);

 private:
  // Takes the bodies at these positions out of the mailbox that the journal
  // has, because they were refused with `status`.
  Sent Refuse(const Pid& to, uint64_t position, size_t count,
              absl::Status status);

  DurableProcesses& durable_;
  Delivery& delivery_;
  ProcessTable& processes_;
};

}  // namespace actord::runtime
