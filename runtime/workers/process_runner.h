// Runs one turn of one process: calls Init if it is due, drains the mailbox,
// steps, applies the effects of the step, and then ends or re-enqueues the
// process.
//
//   Beginning   Init
//   Inbox       mailbox to events
//   StepCaller  events to a StepRecord
//   Applier     the effects of the record
//   Upgrader    a newer version of the type
//   Continuing  the end of a life of a process that begins again
//   Teardown    the end
//   DurableTurn all of it, for a durable process
//
// Thread-safety: belongs to one thread that runs workers.
// performance-notes: Rare code moved out, Inlined by force.
#pragma once

#include <cstdint>

#include "runtime/durable_turn/durable_turn.h"
#include "runtime/scheduler/scheduler.h"
#include "runtime/turn/turn.h"
#include "runtime/turn/turn_parts.h"

namespace actord::runtime {

class ProcessRunner {
 public:
  // `durable`: null if the runtime has no store.
  ProcessRunner(TurnParts& parts, DurableTurn* durable, Scheduler& scheduler,
                Lane& lane)
      : parts_(parts), durable_(durable), scheduler_(scheduler), lane_(lane) {}
  ProcessRunner(const ProcessRunner&) = delete;
  ProcessRunner& operator=(const ProcessRunner&) = delete;

  // Precondition: the caller took `process` out of a queue.
  void RunTurn(Process& process);

  Lane& lane() { return lane_; }

 private:
  // The return value of RunStep when the process has ended.
  static constexpr int32_t kHasEnded = -1;

  // Runs the turn of a durable process.
  [[gnu::noinline]] void RunDurable(Process& process, Turn& turn);
  // Calls Init. False: the process has ended.
  bool Begin(Process& process, Turn& turn);
  bool FillFromUrgent(Process& process, Turn& turn) {
    if (parts_.inbox.FillFromUrgent(process, turn)) return true;
    parts_.teardown.End(process, turn, parts_.inbox.TakeEndCause());
    return false;
  }
  // The turn has found none of the messages that are counted, because their
  // sender has not pushed them yet. This thread yields its processor to the
  // sender: at once if no other work goes before the process, otherwise every
  // kVainTurnsPerYield times.
  [[gnu::noinline]] void LetSenderGoOn(const Process& process);
  // Steps, and applies the record. Returns ACTORD_STEP_IDLE, _BLOCK, _CONTINUE
  // or _CONTINUE_AS, or kHasEnded. (Not an optional: its two parts are written
  // apart and read as one, which stalls the processor.)
  int32_t RunStep(Process& process, Turn& turn);
  // For a step whose record is not plain. If the step failed, its effects are
  // rolled back, the process ends, and the function returns true.
  [[gnu::noinline]] bool EndIfFailed(Process& process, Turn& turn);
  // Begins the process again, or ends it, after a step that asked to begin
  // again. Returns as RunStep.
  [[gnu::noinline]] int32_t BeginAgain(Process& process, Turn& turn);
  // Ends a process that is done or has taken its maximum number of steps.
  [[gnu::noinline]] void EndAfterStep(Process& process, Turn& turn);
  // Whether the turn goes on with one more step after `steps` steps.
  [[nodiscard]] bool GoesOn(const Process& process, int32_t verdict,
                            int steps) const;
  // Ends the turn of a process that lives on. (Inlined: see StepCaller::Step.)
  [[gnu::always_inline]] void Finish(Process& process, Turn& turn,
                                     int32_t verdict);
  // Ends the turn without a step. The yields of a step would find room that the
  // activity word does not have: the word counts dropped events until the turn
  // ends.
  [[gnu::noinline]] void FinishWithoutStep(Process& process, Turn& turn);

  TurnParts& parts_;
  DurableTurn* const durable_;
  Scheduler& scheduler_;
  Lane& lane_;
  uint32_t turns_in_vain_ = 0;  // turns that found no message
};

}  // namespace actord::runtime
