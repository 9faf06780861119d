// Sends the messages of durable processes: to durable processes at once,
// because they are in the journal, and to volatile processes when the record
// that holds them is durable.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <cstdint>

#include "runtime/delivery/delivery.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/effects/undelivered.h"
#include "runtime/scheduler/lane.h"

namespace actord::runtime {

class LoggedSends {
 public:
  // All are borrowed. `shared_lane`: the lane of threads that run no workers.
  // `lane`: the lane of this thread.
  LoggedSends(DurableProcesses& durable, Delivery& delivery,
              const Undelivered& undelivered, Lane& shared_lane, Lane& lane)
      : durable_(durable),
        delivery_(delivery),
        undelivered_(undelivered),
        shared_lane_(shared_lane),
        lane_(lane) {}
  LoggedSends(const LoggedSends&) = delete;
  LoggedSends& operator=(const LoggedSends&) = delete;

  // Takes `message`, of kEventLogged with this `position`, which the record at
  // `record` holds. A refused message becomes a dead letter. Precondition: the
  // PID belongs to a home.
  void Send(Owner by, const Pid& to, Envelope* message, uint64_t position,
            uint64_t record);
  // Takes `message`, of ACTORD_EVENT_MESSAGE.
  void SendWhenDurable(Owner by, const Pid& to, Envelope* message,
                       uint64_t record);
  // Writes that the body at `position` is not in the mailbox of `to`. Returns
  // the position of the record; 0: the journal has failed.
  uint64_t LogDropped(const Pid& to, uint64_t position,
                      records::DropReason reason);

 private:
  DurableProcesses& durable_;
  Delivery& delivery_;
  const Undelivered& undelivered_;
  Lane& shared_lane_;
  Lane& lane_;
};

}  // namespace actord::runtime
