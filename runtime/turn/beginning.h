// Begins a process: calls its Init and announces that the process has begun.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <optional>

#include "runtime/actors/lifecycle_log.h"
#include "runtime/process/outcome.h"
#include "runtime/process/submission.h"
#include "runtime/scheduler/shutdown_orders.h"
#include "runtime/settings/limits.h"
#include "runtime/turn/step_caller.h"
#include "runtime/turn/turn.h"
#include "runtime/yields/lifetimes.h"

namespace actord::runtime {

class Beginning {
 public:
  Beginning(StepCaller& caller, Lifetimes& lifetimes,
            LifecycleLog& lifecycle_log, const ShutdownOrders& orders,
            const LiveLimits& limits, Lane& lane)
      : caller_(caller),
        lifetimes_(lifetimes),
        lifecycle_log_(lifecycle_log),
        orders_(orders),
        limits_(limits),
        lane_(lane) {}
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;

  // Calls Init. Returns why the process does not begin. Nullopt: the process
  // has begun, its first step is due, and its submitter has been told. After a
  // refusal, the end of the process tells the submitter. Precondition:
  // `init_due`.
  std::optional<EndCause> Begin(Process& process, const Turn& turn);
  // Calls Init for a process that begins again. Nobody is told of that.
  // Returns as Begin.
  std::optional<EndCause> BeginAgain(Process& process, const Turn& turn);
  // The reason for the refusal, from the record of the Init that has returned.
  EndCause WhyInitFailed();

 private:
  // `admitted`: the submitter's callback; may be null.
  std::optional<EndCause> CallInit(Process& process, const Turn& turn,
                                   Admitted* admitted);
  // Precondition: Init has failed. Not asserted: the state may be null or not.
  void FreeFailedState(Process& process);

  StepCaller& caller_;
  Lifetimes& lifetimes_;
  LifecycleLog& lifecycle_log_;
  const ShutdownOrders& orders_;
  const LiveLimits& limits_;
  Lane& lane_;
};

}  // namespace actord::runtime
