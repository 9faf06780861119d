// What durable processes accept from outside the durable set. An input is in
// the journal before it is in the mailbox; whoever sent it is told when its
// record is durable.
//
// Thread-safety: any thread, with its own lane.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
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

  // Sends all messages or none: as Delivery::SendAll, for a durable process.
  // Returns the position of the record; the messages are durable with it.
  absl::StatusOr<uint64_t> SendAll(Owner by, const Pid& to,
                                   std::span<const Message> messages,
                                   Lane& lane, ReadyList* ready = nullptr);
  // A cancel or a terminate: as Delivery::Control.
  absl::StatusOr<uint64_t> Control(Owner by, const Pid& to, uint16_t type,
                                   std::string_view reason, Lane& lane);

 private:
  DurableProcesses& durable_;
  Delivery& delivery_;
  ProcessTable& processes_;
};

}  // namespace actord::runtime
