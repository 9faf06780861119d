// Ends a life of a process that begins again (continue_as in actord/abi.h). The
// process itself stays, with its PID, mailbox, names, groups and ties. The
// parts of the former life end:
//
//   state                        closed
//   yields, calls, timers        cancelled, without completions
//   calls without an answer yet  failed, by replies among the effects of the
//                                last step. A call that is handed on stays.
//
// The messages and exits that the process hands on come first in
// `urgent_taken`, so the first step after Init gets all of them.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/process/pid.h"
#include "runtime/process/process.h"
#include "runtime/scheduler/lane.h"
#include "runtime/step/step_record.h"
#include "runtime/turn/step_caller.h"
#include "runtime/turn/turn.h"
#include "runtime/turn/upgrader.h"

namespace actord::runtime {

class Continuing {
 public:
  Continuing(StepCaller& caller, Upgrader& upgrader, Lane& lane)
      : caller_(caller), upgrader_(upgrader), lane_(lane) {}
  Continuing(const Continuing&) = delete;
  Continuing& operator=(const Continuing&) = delete;

  // Adds replies to the effects of the record. They fail each call of `owed`
  // that the record's continuation does not hand on. Precondition: the process
  // begins again.
  void FailOwedCalls(std::vector<uint64_t> owed);
  // Ends the life when the effects of its last step are applied, and takes the
  // record's continuation. Then Init is due, with the new input and method.
  // `withdrawn`: see YieldBroker::CloseOthers.
  void EndLife(Process& process, Turn& turn,
               std::vector<YieldToken>* withdrawn);

 private:
  StepCaller& caller_;
  Upgrader& upgrader_;
  Lane& lane_;
};

// Puts the events that a former life has handed on before all others of
// `urgent_taken`. `unseen` is encoded as Continuation::unseen. Call this in the
// turn of the process, or before the process runs. An error: the bytes are
// damaged, and nothing has changed.
absl::Status PushUnseen(std::string_view unseen, Process& process,
                        uint32_t generation, Lane& lane);

}  // namespace actord::runtime
