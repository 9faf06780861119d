// Upgrades a process to a newer version of its type, between two steps:
// Snapshot of the old version, Restore of the new version, then Close of the
// old version. Nothing changes until Restore has succeeded, so a failure leaves
// the process as it was.
//
// A durable process is upgraded by its own turn (durable_upgrade.h), which
// shares the rules with this class.
//
// Yields of the old version that the new version does not adopt are closed. If
// the completion of a closed yield has left the broker, but is not in the
// mailbox yet, the yield is fenced: Upgrading keeps its tag until the
// completion arrives. The process keeps everything else.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/rules/process_rules.h"
#include "runtime/process/catalog.h"
#include "runtime/process/process.h"
#include "runtime/scheduler/lane.h"
#include "runtime/settings/options.h"
#include "runtime/turn/inbox.h"
#include "runtime/turn/step_caller.h"
#include "runtime/turn/turn.h"
#include "runtime/yields/yield_broker.h"

namespace actord::runtime {

struct YieldAdoption;  // upgrading.h

class Upgrader {
 public:
  using Log = StepCaller::Log;

  Upgrader(Inbox& inbox, StepCaller& caller, YieldBroker& broker,
           const Log& log, Lane& lane)
      : inbox_(inbox),
        caller_(caller),
        broker_(broker),
        log_(log),
        lane_(lane) {}
  Upgrader(const Upgrader&) = delete;
  Upgrader& operator=(const Upgrader&) = delete;

  // Called at the start of a turn: upgrades the process to `target`, unless the
  // process has been asked before.
  void BeforeStep(Process& process, Turn& turn, const ProcessType& target);
  // Called after steps: asks again if the process has put the upgrade off.
  // Precondition: `upgrading`.
  void AfterSteps(Process& process, Turn& turn);

  // Applies the rules before Snapshot is called. `method`: the index of the
  // process's method in `target`, or kNoSuchMethod. An upgrade that does not go
  // on has been put off or declined.
  rules::Upgrade Ask(Process& process, const ProcessType& target,
                     uint32_t& method);
  // The process stays in its version. `why`: the reason for the log; nullopt:
  // nothing is logged.
  void Decline(Process& process, const ProcessType& target,
               const std::optional<std::string>& why);
  // The process is asked again after its next step.
  static void PutOff(Process& process, const ProcessType& target);
  // The process is one of `target` from now on, and that is counted.
  void Finish(Process& process, const ProcessType& target, uint16_t method);
  static void SetType(Process& process, const ProcessType& type,
                      uint16_t method);
  [[nodiscard]] YieldAdoption AdoptableYields(const Process& process) const;
  // Closes the yields that were not adopted: no step gets their completions.
  // `withdrawn`: see YieldBroker::CloseOthers.
  void Fence(Process& process, Turn& turn, const YieldAdoption& adoption,
             std::vector<YieldToken>* withdrawn = nullptr);

 private:
  void Upgrade(Process& process, Turn& turn, const ProcessType& target);
  // False: there is no snapshot, and the process remembers that it was asked.
  bool TakeSnapshot(Process& process, const Turn& turn, const ProcessType& from,
                    const ProcessType& target, Payload& snapshot);
  // Returns the new state. Null: there is none, and the process remembers that
  // it was asked.
  void* Restore(Process& process, const Turn& turn, const ProcessType& target,
                const actord_restore& restore, YieldAdoption& adoption);
  rules::PluginCallEnd KindOf(const StepCaller::UpgradeCallResult& result);
  // The reason why the call that has just returned did not succeed.
  std::string WhyRefused(const StepCaller::UpgradeCallResult& result);

  Inbox& inbox_;
  StepCaller& caller_;
  YieldBroker& broker_;
  const Log& log_;
  Lane& lane_;
};

}  // namespace actord::runtime
