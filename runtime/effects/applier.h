// Applies the record of a step: carries out its effects, in their order. No
// other code carries out the effects of a volatile process's step. For a
// durable process durable_applier.h does, once the record is in the journal.
//
//   effect           owner
//   send             Delivery
//   spawn            the process table and the scheduler; Ties for its ties
//   yield            Dispatcher
//   call, reply      Calls
//   monitor, link    Ties
//   cancel a yield   YieldBroker
//   publish          Topics
//   log a line       ProcessLog
//
// Thread-safety: belongs to one thread that runs turns.
// performance-notes: Rare code moved out.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "runtime/actors/ties.h"
#include "runtime/delivery/delivery.h"
#include "runtime/effects/calls.h"
#include "runtime/effects/dispatcher.h"
#include "runtime/effects/effect_owners.h"
#include "runtime/effects/undelivered.h"
#include "runtime/log/process_log.h"
#include "runtime/process/listed/failed_step.h"
#include "runtime/process/owner.h"
#include "runtime/scheduler/lane.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/step/step_record.h"
#include "runtime/system/assert.h"
#include "runtime/table/process_table.h"
#include "runtime/topics/topics.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

class Applier {
 public:
  using Owners =
      EffectOwners<Dispatcher, Calls, Ties, YieldBroker, Topics, ProcessLog>;

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

  // Applies and clears the effects of the record. Precondition: the step of
  // `process`, whose PID is `self`, succeeded.
  // (Inlined: see StepCaller::Step.)
  [[gnu::always_inline]] void Apply(StepRecord& record, Process& process,
                                    const Pid& self);
  // Drops the effects of a failed step, and frees the contents and the children
  // that they own. Returns the lines that the step would have logged.
  [[nodiscard]] StepLines Rollback(StepRecord& record);

 private:
  // `by`: the owner of the process that sends.
  //
  // The Apply functions return a pointer behind the effects that they have
  // applied.

  // Applies two or more effects. (Not inlined: the loop would cost a step of
  // one effect registers.)
  [[gnu::noinline]] void ApplyEffects(std::vector<Effect>& effects,
                                      Process& process, const Pid& self);
  [[gnu::always_inline]] void ApplySend(SendEffect& send, Owner by);
  // The newest lines that the log has at its present level.
  [[nodiscard]] StepLines LinesOf(const std::vector<Effect>& effects) const;
  // Applies the send `first`, or a burst.
  Effect* ApplySends(Effect* first, Effect* end, Owner by);
  // Applies the sends from `first` on that go to the same process. They are
  // published together, so that a burst costs at most two RMWs. (Not inlined,
  // so that a single send saves no registers.)
  [[gnu::noinline]] Effect* ApplyBurst(Effect* first, Effect* end, Owner by);
  // Applies an effect that is not a send.
  [[gnu::noinline]] Effect* ApplyOther(Process& process, const Pid& self,
                                       Effect* effect, Effect* end);
  // Applies all consecutive spawns.
  Effect* ApplySpawns(const Pid& self, Effect* first, Effect* end);

  // Sends one by one the messages to `to` that were refused together: as many
  // as there is room for. They are linked from `head` to `last`, or in a chain.
  [[gnu::noinline]] void SendOneByOne(Owner by, const Pid& to, Envelope* head,
                                      Envelope* last);
  // Starts the child and adds it to children_. Gives the child the messages of
  // the sends that follow and go to it. Returns a pointer behind those sends.
  Effect* StartChild(SpawnEffect& spawn, Effect* next, Effect* end);
  // Begins the ties of the child before the child can end.
  [[gnu::noinline]] void TieChild(const Pid& self, const SpawnEffect& spawn);

  const Owners owners_;
  Delivery& delivery_;
  ProcessTable& processes_;
  Scheduler& scheduler_;
  const Undelivered& undelivered_;
  Lane& lane_;
  // Children of the step that are started and not enqueued yet.
  ReadyList children_;
};

inline void Applier::ApplySend(SendEffect& send, Owner by) {
  Envelope* const envelope = send.content.TakeLast();
  if (delivery_.Send(by, send.to, envelope, lane_) != Posted::kDelivered)
      [[unlikely]] {
    SendOneByOne(by, send.to, envelope, envelope);
  }
}

inline void Applier::Apply(StepRecord& record, Process& process,
                           const Pid& self) {
  ACTORD_ASSERT_HOT(record.misuse.ok() && record.thrown.empty(),
                    "applier.h: the step succeeded");
  std::vector<Effect>& effects = record.effects;
  if (effects.size() == 1) [[likely]] {
    Effect& effect = effects.front();
    if (auto* const send = std::get_if<SendEffect>(&effect)) [[likely]] {
      ApplySend(*send, process.owner.load(std::memory_order_relaxed));
    } else if (auto* const yield = std::get_if<YieldEffect>(&effect)) {
      owners_.Apply(std::move(*yield), process, self, lane_);
    } else {
      ApplyOther(process, self, effects.data(), effects.data() + 1);
    }
    effects.clear();
  } else if (!effects.empty()) {
    ApplyEffects(effects, process, self);
  }
}

}  // namespace actord::runtime
