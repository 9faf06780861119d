// Writes the ends of dead letters into the journal: RESENT and FORGOTTEN.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/actors/dead_letters.h"
#include "runtime/delivery/delivery.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/scheduler/lane.h"

namespace actord::runtime {

class LetterJournal final : public LetterLog {
 public:
  // All are borrowed. `shared_lane`: the lane of threads that run no workers.
  LetterJournal(DurableProcesses& durable, Delivery& delivery,
                ProcessTable& processes, Lane& shared_lane)
      : durable_(durable),
        delivery_(delivery),
        processes_(processes),
        lane_(shared_lane) {}

  void Forget(const std::vector<uint64_t>& positions) override;
  uint64_t Keep(const Envelope& message, const Pid& to, Owner owner) override;
  // A durable receiver gets the message once, also after a crash: one record
  // holds the message and the end of the letter, and it is written before the
  // message is in the mailbox. If the letter itself is not in the journal, a
  // crash loses it in any case.
  absl::Status Resend(Owner by, const Pid& to, const Envelope& message,
                      uint64_t& position) override;

 private:
  absl::Status ResendToDurable(Owner by, const Pid& to, const Envelope& message,
                               uint64_t& position);

  DurableProcesses& durable_;
  Delivery& delivery_;
  ProcessTable& processes_;
  Lane& lane_;
};

}  // namespace actord::runtime
