// Applies the record of a step: carries out its effects, in their order. The
// one place where a step's effects happen.
//
//   effect           owner
//   send             Delivery
//   spawn            the process table and the scheduler; its ties: Ties
//   yield            Dispatcher
//   call, reply      Calls
//   monitor, link    Ties
//   cancel a yield   YieldBroker
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include "runtime/actors/ties.h"
#include "runtime/effects/calls.h"
#include "runtime/effects/dispatcher.h"
#include "runtime/effects/effect_owners.h"
#include "runtime/effects/undelivered.h"
#include "runtime/inbox/delivery.h"
#include "runtime/process/process_table.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/step/step_record.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

class Applier {
 public:
  using Owners = EffectOwners<Dispatcher, Calls, Ties, YieldBroker>;

  Applier(const Owners& owners, Delivery& delivery, ProcessTable& processes,
          Scheduler& scheduler, const Undelivered& undelivered, Lane& lane)
      : owners_(owners),
        delivery_(delivery),
        processes_(processes),
        scheduler_(scheduler),
        undelivered_(undelivered),
        lane_(lane) {}
  Applier(const Applier&) = delete;
  Applier& operator=(const Applier&) = delete;

  // The step of `process`, which is `self`, returned well. Leaves no effects.
  void Apply(StepRecord& record, Process& process, const Pid& self);
  // The step failed: nothing of it happens. What its effects own goes back.
  void Rollback(StepRecord& record);

 private:
  // These return what comes behind the effects that they have applied.

  // The sends from `first` on that go to the same process. They are published
  // at once, so that a burst costs two RMWs at most.
  Effect* ApplySends(Effect* first, Effect* end);
  // Any effect but a send.
  [[gnu::noinline]] Effect* ApplyOther(Process& process, const Pid& self,
                                       Effect* effect, Effect* end);
  // All spawns that follow one another.
  Effect* ApplySpawns(const Pid& self, Effect* first, Effect* end);

  // Messages to `to`, linked from `head` to `last`, or in a chain, that were
  // refused together: as many as there is room for.
  [[gnu::noinline]] void SendOneByOne(const Pid& to, Envelope* head,
                                      Envelope* last);
  // Together with the sends behind it that go to the child, which finds them in
  // hand; into children_. Returns what comes behind them.
  Effect* StartChild(SpawnEffect& spawn, Effect* next, Effect* end);
  // Before the child can end.
  [[gnu::noinline]] void TieChild(const Pid& self, const SpawnEffect& spawn);

  const Owners owners_;
  Delivery& delivery_;
  ProcessTable& processes_;
  Scheduler& scheduler_;
  const Undelivered& undelivered_;
  Lane& lane_;
  // Of a step: started, not enqueued yet.
  ReadyList children_;
};

}  // namespace actord::runtime
