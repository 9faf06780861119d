// Inputs that durable processes accept from outside the durable set. An input
// is in the journal before it is in the mailbox. Its sender is answered when
// the record is durable.
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
#include "runtime/process/submission.h"
#include "runtime/records/records.h"
#include "runtime/scheduler/lane.h"

namespace actord::runtime {

// The result of an input.
struct Sent {
  absl::Status status;
  // The sender is answered when the record at this position is durable; 0: at
  // once. The same holds for an error.
  uint64_t position = 0;

  // Stores the position in `place`, unless that is null.
  absl::Status Tell(uint64_t* place) const {
    if (place != nullptr) *place = position;
    return status;
  }
};

// The id of a request that an input carries out.
struct InputId {
  const RequestId* id = nullptr;  // null, or empty: none
  bool is_submit = false;         // a request id of Submit
  bool is_call = false;           // the message id of a call

  [[nodiscard]] bool is_set() const { return id != nullptr && !id->id.empty(); }
};

class DurableInputs {
 public:
  // All are borrowed.
  DurableInputs(DurableProcesses& durable, Delivery& delivery,
                ProcessTable& processes)
      : durable_(durable), delivery_(delivery), processes_(processes) {}

  // Sends all messages or none: as Delivery::SendAll, for a durable process.
  // `id`: stands in the record, and is forgotten if the messages are refused.
  // No messages: the record holds only the id.
  Sent SendAll(Owner by, const Pid& to, std::span<const Message> messages,
               Lane& lane, ReadyList* ready = nullptr, const InputId& id = {});
  // A cancel or a terminate: as Delivery::Control. `deadline_ns`: the time
  // after a cancel at which the caller terminates the process; 0: never.
  Sent Control(Owner by, const Pid& to, uint16_t type, std::string_view reason,
               uint64_t deadline_ns, Lane& lane);

  // For bodies that are in the journal from `position` on and were not
  // delivered, for the reason `posted` that `status` explains: removes them
  // from the mailbox in the journal, and forgets their id.
  Sent Refuse(const Pid& to, uint64_t position, size_t count, Posted posted,
              absl::Status status, const InputId& id = {});

 private:
  DurableProcesses& durable_;
  Delivery& delivery_;
  ProcessTable& processes_;
};

}  // namespace actord::runtime
