// Runs one turn of one process: Init if it has not been, drain the mailbox,
// step, apply what the step wants, and what becomes of the process then.
//
//   Beginning   Init
//   Inbox       mailbox to events
//   StepCaller  events to a StepRecord
//   Applier     the effects of the record
//   Upgrader    a newer version of the type
//   Closing     the end
//
// Thread-safety: belongs to one thread that runs workers.
#pragma once

#include <cstdint>

#include "runtime/effects/applier.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/turn/beginning.h"
#include "runtime/turn/closing.h"
#include "runtime/turn/inbox.h"
#include "runtime/turn/step_caller.h"
#include "runtime/turn/turn.h"
#include "runtime/turn/upgrader.h"

namespace actord::runtime {

class ProcessRunner {
 public:
  ProcessRunner(Beginning& beginning, Inbox& inbox, StepCaller& caller,
                Applier& applier, Upgrader& upgrader, Closing& closing,
                Scheduler& scheduler, Lane& lane)
      : beginning_(beginning),
        inbox_(inbox),
        caller_(caller),
        applier_(applier),
        upgrader_(upgrader),
        closing_(closing),
        scheduler_(scheduler),
        lane_(lane) {}
  ProcessRunner(const ProcessRunner&) = delete;
  ProcessRunner& operator=(const ProcessRunner&) = delete;

  // Precondition: the caller took `process` out of a queue.
  void RunTurn(Process& process);

  Lane& lane() { return lane_; }

 private:
  // What RunStep returns when the process has ended.
  static constexpr int32_t kHasEnded = -1;

  // Whether the process has begun, and not ended.
  bool Begin(Process& process, Turn& turn);
  bool FillFromUrgent(Process& process, Turn& turn) {
    if (inbox_.FillFromUrgent(process, turn)) return true;
    closing_.End(process, turn, inbox_.TakeEndCause());
    return false;
  }
  // The turn has found none of those that are counted: their sender is just
  // about to push them, and if the machine keeps it from that, this thread does
  // not stand in its way: at once if it has nothing else to do that goes
  // before, otherwise every so many times.
  [[gnu::noinline]] void LetSenderGoOn(const Process& process);
  // Steps, and applies the record. Returns ACTORD_STEP_IDLE, _BLOCK or
  // _CONTINUE, or kHasEnded. (No optional: its two parts, written apart and
  // read as one, stall the processor.)
  int32_t RunStep(Process& process, Turn& turn);
  // Of a step that did not simply end well: nothing of it happens, and the
  // process ends, if it failed.
  [[gnu::noinline]] bool EndIfFailed(Process& process, Turn& turn);
  // The process is done, or has taken all the steps that it may.
  [[gnu::noinline]] void EndAfterStep(Process& process, Turn& turn);
  // After `steps` in this turn: whether there is one more.
  [[nodiscard]] bool GoesOn(const Process& process, int32_t verdict,
                            int steps) const;
  // The turn ends, and the process lives.
  void Finish(Process& process, Turn& turn, int32_t verdict);
  // No step in this turn: its yields would have room that the word has not,
  // which counts to the end of the turn what has been dropped.
  [[gnu::noinline]] void FinishWithoutStep(Process& process, Turn& turn);

  Beginning& beginning_;
  Inbox& inbox_;
  StepCaller& caller_;
  Applier& applier_;
  Upgrader& upgrader_;
  Closing& closing_;
  Scheduler& scheduler_;
  Lane& lane_;
  uint32_t turns_in_vain_ = 0;  // those that found nothing they were for
};

}  // namespace actord::runtime
