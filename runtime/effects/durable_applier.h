// Applies the effects of a step of a durable process, whose record is in the
// journal. Effects among durable processes happen at once. All other effects
// wait until the record is durable: messages to volatile processes, answers,
// dead letters, tasks, publications, lines of the log, starts of volatile
// children.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <cstdint>

#include "runtime/actors/ties.h"
#include "runtime/durable/durable_processes.h"
#include "runtime/effects/calls.h"
#include "runtime/effects/durable_yields.h"
#include "runtime/effects/logged_sends.h"
#include "runtime/log/process_log.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/step/live_world.h"
#include "runtime/step/step_record.h"
#include "runtime/table/process_table.h"
#include "runtime/topics/topics.h"

namespace actord::runtime {

class DurableApplier {
 public:
  // Parts that the applier shares with all threads.
  struct Shared {
    DurableProcesses& durable;
    ProcessTable& processes;
    Scheduler& scheduler;
    Calls& calls;
    Ties& ties;
    Topics& topics;
    const ProcessLog& process_log;
    Lane& lane;  // for threads that run no workers
  };
  // `world`, `sends`, `yields` and `lane` belong to this thread. All are
  // borrowed.
  DurableApplier(const Shared& shared, LiveWorld& world, LoggedSends& sends,
                 DurableYields& yields, Lane& lane)
      : shared_(shared),
        world_(world),
        sends_(sends),
        yields_(yields),
        lane_(lane) {}
  DurableApplier(const DurableApplier&) = delete;
  DurableApplier& operator=(const DurableApplier&) = delete;

  // Applies and clears the effects. `record_at`: the position of the step's
  // record. `process` has the PID `self`, and is in its turn.
  void Apply(StepRecord& record, Process& process, const Pid& self,
             DurableState& state, uint64_t record_at);

 private:
  // Data that all effects of a step share.
  struct Step {
    Process& process;
    const Pid& self;
    DurableState& state;
    Owner by;
    uint64_t record_at;
  };

  // `position`: the position of the effect's body.
  void Apply(SendEffect& send, const Step& step, uint64_t position);
  void Apply(ReplyEffect& reply, const Step& step, uint64_t position);
  void Apply(SpawnEffect& spawn, const Step& step);
  void Apply(PublishEffect& publish, const Step& step);
  void Apply(LogEffect& log, const Step& step);
  void Begin(Process& child, SpawnEffect& spawn, const Step& step);

  const Shared shared_;
  LiveWorld& world_;
  LoggedSends& sends_;
  DurableYields& yields_;
  Lane& lane_;
};

}  // namespace actord::runtime
