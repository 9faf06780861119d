// How the end of a process becomes known, in this order:
//
//   1. The turn closes what is the process's own: its state, its yields, what
//      is left of an upgrade (Closing::End).
//   2. The end is counted, and another process of the type may begin.
//
//   Before the PID stops being found, in one critical section of the results if
//   the result is kept:
//   3. The generation becomes even: nobody finds the process any more.
//   4. The lifecycle log appends ENDED, if it records.
//   5. `Process::wanted` is read: who wants to know.
//   6. The result is stored, and whoever awaits it is taken off the list. They
//      are called when the critical section is over.
//
//   After it, each only if its bit of `wanted` is set (Observers):
//   7. Names: whoever hears of the end finds the names free.
//   8. Groups.
//   9. Calls: what the process owes fails.
//  10. Ties: monitors and links are told.
//
//  11. Whoever submitted it and waits for Init hears of the refusal, and may
//      use the name again at once.
//  12. The mailbox is emptied into the dead letters. Whoever delivers a call
//      looks for the end afterwards, and relies on 3 before 12
//      (Run::Kind::kCall).
//  13. The word gets `ended`, the slot is given back, and a shutdown is told.
//
// An end that nobody wants reads `wanted` and whether the log records, builds
// no Outcome and calls no observer: most processes that are spawned end so.
//
// This class does 3 to 10; Closing does the rest.
//
// Thread-safety: from the turn of the process.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/actors/groups.h"
#include "runtime/actors/lifecycle_log.h"
#include "runtime/actors/names.h"
#include "runtime/actors/results.h"
#include "runtime/actors/ties.h"
#include "runtime/effects/calls.h"
#include "runtime/process/end_record.h"
#include "runtime/scheduler/lane.h"
#include "runtime/step/step_record.h"
#include "runtime/system/clock.h"

namespace actord::runtime {

class Ending {
 public:
  // 7 to 10.
  using Observers = EndObservers<Names, Groups, Calls, Ties>;

  Ending(Results& results, LifecycleLog& lifecycle_log,
         const Observers& observers, const Clock& clock)
      : results_(results),
        lifecycle_log_(lifecycle_log),
        observers_(observers),
        clock_(clock) {}

  // `record`: of its last call; its result is taken, or dropped.
  void Publish(Process& process, const Pid& pid, EndCause&& cause,
               StepRecord& record, Lane& lane);

 private:
  struct Seen {
    bool recorded;   // the log records
    uint8_t wanted;  // bits of Wanted
  };
  // 3, and what it is paired with; 5.
  static Seen MakeUnfindable(Process& process, const Pid& pid,
                             const LifecycleLog& lifecycle_log);
  // Takes the result of the step.
  Outcome OutcomeOf(const Process& process, EndCause&& cause,
                    StepRecord& record) const;
  void PublishKept(Process& process, const Pid& pid, Outcome outcome,
                   Lane& lane);
  [[gnu::noinline]] void PublishUnkept(Process& process, const Pid& pid,
                                       const Seen& seen, const Outcome& outcome,
                                       Lane& lane);

  Results& results_;
  LifecycleLog& lifecycle_log_;
  const Observers observers_;
  const Clock& clock_;
};

}  // namespace actord::runtime
