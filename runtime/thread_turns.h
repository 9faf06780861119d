// The turn classes of a thread that runs workers: the classes of runtime/turn
// that belong to one thread, each with the parts of the runtime that it needs.
//
// Thread-safety: belongs to one thread. Ownership: borrows the core and the
// lane.
#pragma once

#include <memory>

#include "runtime/core.h"
#include "runtime/durable_turn/durable_turn.h"
#include "runtime/effects/applier.h"
#include "runtime/step/live_world.h"
#include "runtime/tracing/turn_traces.h"
#include "runtime/turn/beginning.h"
#include "runtime/turn/inbox.h"
#include "runtime/turn/step_caller.h"
#include "runtime/turn/teardown.h"
#include "runtime/turn/upgrader.h"
#include "runtime/workers/process_runner.h"

namespace actord::runtime {

class Runtime::Core::ThreadTurns {
 public:
  ThreadTurns(Core& core, Lane& lane, BlockingCalls& blocking_calls)
      : world(core.catalog, core.processes,
              core.durable == nullptr ? nullptr : &core.durable->homes(),
              core.names, core.ties, core.step_secret, core.limits, core.clock,
              lane),
        traces(core.options.spans),
        parts{.inbox = Inbox(core.processes, core.broker, core.ties,
                             core.undelivered, traces, lane),
              .caller = StepCaller(world, core.processes, core.calls,
                                   core.options.step_sink, blocking_calls,
                                   core.options.log, core.limits, &traces,
                                   &core.recordings, lane),
              .beginning =
                  Beginning(parts.caller, core.lifetimes, core.lifecycle_log,
                            core.orders, core.limits, lane),
              .applier = Applier(
                  Applier::Owners(core.dispatcher, core.calls, core.ties,
                                  core.broker, core.topics, core.process_log),
                  core.delivery, core.processes, core.scheduler,
                  core.undelivered, lane),
              .upgrader = Upgrader(parts.inbox, parts.caller, core.broker,
                                   core.options.log, lane),
              .teardown =
                  Teardown(parts.inbox, parts.caller, core.broker,
                           core.processes, core.ending, core.orders, lane),
              .continuing = Continuing(parts.caller, parts.upgrader, lane)},
        durable(
            core.durable == nullptr
                ? nullptr
                : std::make_unique<DurableTurn>(
                      DurableTurn::Shared{.catalog = core.catalog,
                                          .durable = *core.durable,
                                          .letters = *core.letter_journal,
                                          .parked = *core.parked,
                                          .processes = core.processes,
                                          .scheduler = core.scheduler,
                                          .delivery = core.delivery,
                                          .broker = core.broker,
                                          .tasks = core.tasks,
                                          .dispatcher = core.dispatcher,
                                          .calls = core.calls,
                                          .ties = core.ties,
                                          .topics = core.topics,
                                          .process_log = core.process_log,
                                          .lifetimes = core.lifetimes,
                                          .lifecycle_log = core.lifecycle_log,
                                          .undelivered = core.undelivered,
                                          .orders = core.orders,
                                          .limits = core.limits,
                                          .log = core.options.log,
                                          .lane = core.lane},
                      world, parts, blocking_calls, lane)),
        runner(parts, durable.get(), core.scheduler, lane) {}
  ThreadTurns(const ThreadTurns&) = delete;
  ThreadTurns& operator=(const ThreadTurns&) = delete;

  LiveWorld world;
  TurnTraces traces;
  TurnParts parts;
  const std::unique_ptr<DurableTurn> durable;  // null: there is no store
  ProcessRunner runner;
};

}  // namespace actord::runtime
