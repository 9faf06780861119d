// Applies the effects of a step of a durable process, whose record is in the
// journal. Messages to durable processes are delivered at once. Everything that
// leaves the durable set waits until the record is durable: messages to
// volatile processes, answers, dead letters.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <cstdint>

#include "runtime/delivery/delivery.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/effects/calls.h"
#include "runtime/effects/undelivered.h"
#include "runtime/scheduler/lane.h"
#include "runtime/step/step_record.h"

namespace actord::runtime {

class DurableApplier {
 public:
  // Why the runtime cannot apply this effect; null: it can.
  static const char* WhyNotSupported(const Effect& effect);

  // All are borrowed. `shared_lane`: of threads that run no workers. `lane`: of
  // this thread.
  DurableApplier(DurableProcesses& durable, Delivery& delivery, Calls& calls,
                 const Undelivered& undelivered, Lane& shared_lane, Lane& lane)
      : durable_(durable),
        delivery_(delivery),
        calls_(calls),
        undelivered_(undelivered),
        shared_lane_(shared_lane),
        lane_(lane) {}
  DurableApplier(const DurableApplier&) = delete;
  DurableApplier& operator=(const DurableApplier&) = delete;

  // Applies and clears the effects. `position`: of the step's record.
  // Precondition: all of them are supported.
  void Apply(StepRecord& record, Process& process, DurableState& state,
             uint64_t position);

 private:
  void Apply(SendEffect& send, Owner by, uint64_t step, uint64_t position);
  void Apply(ReplyEffect& reply, Process& process, DurableState& state,
             uint64_t step);
  // Drops the message when the record at `position` is durable.
  void DropAfter(uint64_t position, Envelope* message, const Pid& to,
                 Posted refusal, Owner by);

  DurableProcesses& durable_;
  Delivery& delivery_;
  Calls& calls_;
  const Undelivered& undelivered_;
  Lane& shared_lane_;
  Lane& lane_;
};

}  // namespace actord::runtime
