// How a process goes on in a newer version of its type, between two steps:
// Snapshot of the old one, Restore of the new one, and then the old one is
// closed. Until Restore has returned well nothing has changed, so whatever goes
// wrong leaves the process as it was.
//
// The old version's own affairs do not reach the new one: its yields are
// closed. Those of them whose completions have left the broker, but have not
// come to the mailbox, are fenced: Upgrading keeps their tags until they come.
// Everything else is the process's and stays.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

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

  // The turn begins: goes on in `target`, unless the process was asked before.
  void BeforeStep(Process& process, Turn& turn, const ProcessType& target);
  // After steps: asks a process again that had put it off. Precondition:
  // `upgrading`.
  void AfterSteps(Process& process, Turn& turn);

 private:
  void Upgrade(Process& process, Turn& turn, const ProcessType& target);
  // False: there is none, and the process remembers that it was asked.
  bool TakeSnapshot(Process& process, const Turn& turn, const ProcessType& from,
                    const ProcessType& target, Payload& snapshot);
  // The new state; null: as TakeSnapshot.
  void* Restore(Process& process, const Turn& turn, const ProcessType& target,
                const actord_restore& restore, YieldAdoption& adoption);
  // What the call that has just ended says of itself.
  std::string WhyRefused(const StepCaller::Answer& answer);
  // `why`: for the log; nullopt: not worth a line.
  void Decline(Process& process, const ProcessType& target,
               const std::optional<std::string>& why);
  // It is asked again after its next step.
  static void PutOff(Process& process, const ProcessType& target);
  static void SetType(Process& process, const ProcessType& type,
                      uint16_t method);
  [[nodiscard]] YieldAdoption AdoptableYields(const Process& process) const;
  // Closes what was not adopted.
  void Fence(Process& process, Turn& turn, const YieldAdoption& adoption);

  Inbox& inbox_;
  StepCaller& caller_;
  YieldBroker& broker_;
  const Log& log_;
  Lane& lane_;
};

}  // namespace actord::runtime
