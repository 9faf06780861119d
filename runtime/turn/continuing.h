// Ends a life of a process that begins again (continue_as in actord/abi.h). The
// process itself stays, with its PID, mailbox, names, groups and ties. The
// parts of the former life end:
//
//   state                        closed
//   yields, calls, timers        cancelled, without completions
//   calls without an answer yet  failed, by replies among the effects of the
//                                last step. A call that is handed on stays.
//
// The messages and exits that the process hands on come before all others. The
// first ones, as many as a step can get, are in `urgent_taken`, so the first
// step after Init gets them. The others are the oldest messages of the mailbox,
// and are counted there, also above the limits of the mailbox: senders are
// refused until the process has got enough of them.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "runtime/process/outcome.h"
#include "runtime/process/pid.h"
#include "runtime/process/process.h"
#include "runtime/scheduler/lane.h"
#include "runtime/step/step_record.h"
#include "runtime/turn/step_caller.h"
#include "runtime/turn/turn.h"
#include "runtime/turn/upgrader.h"

namespace actord::runtime {

// Envelopes of what a former life hands on, oldest first.
struct UnseenEvents {
  EnvelopeList first;  // for the first step
  EnvelopeList rest;   // for the mailbox, which counts them
  uint64_t rest_count = 0;
  uint64_t rest_units = 0;
};

class Continuing {
 public:
  Continuing(StepCaller& caller, Upgrader& upgrader, Lane& lane)
      : caller_(caller), upgrader_(upgrader), lane_(lane) {}
  Continuing(const Continuing&) = delete;
  Continuing& operator=(const Continuing&) = delete;

  // Makes room in the mailbox for what the record's continuation hands on. Adds
  // replies to the effects of the record, which fail each call of `owed` that
  // the continuation does not hand on. EndLife or Abandon follows. A cause: the
  // mailbox has no room, so the process ends. Precondition: the process begins
  // again.
  [[nodiscard]] std::optional<EndCause> Prepare(Process& process,
                                                const Turn& turn,
                                                std::vector<uint64_t> owed);
  // The process ends instead.
  void Abandon(Turn& turn);
  // Ends the life when the effects of its last step are applied, and takes the
  // record's continuation. Then Init is due, with the new input and method.
  // `withdrawn`: see YieldBroker::CloseOthers. Returns the number of events
  // that the continuation hands on.
  size_t EndLife(Process& process, Turn& turn,
                 std::vector<YieldToken>* withdrawn);

 private:
  StepCaller& caller_;
  Upgrader& upgrader_;
  Lane& lane_;
  UnseenEvents unseen_;
};

// Moves what a former life has handed on from `urgent_taken` to the front of
// the mailbox, whose rest becomes dead letters. For a process whose end is not
// durable yet, in its turn. It may exceed the limits of the mailbox. If the
// mailbox cannot count them, they are freed after a call of `forget`.
void KeepUnseen(Process& process, Lane& lane,
                absl::FunctionRef<void(const Envelope&)> forget);

// The first `count` events that a process gets that has just begun again, or
// that PushUnseen has just filled.
std::vector<const Envelope*> FirstUnseen(const Process& process, size_t count);

// Brings back the events that a former life has handed on and that no step has
// got, as EndLife has left them. `bytes` is encoded as Continuation::unseen.
// `left`: how many events these are, the last ones; 0: all. Precondition: the
// process is not live yet. INVALID_ARGUMENT: the bytes are damaged.
// RESOURCE_EXHAUSTED: the mailbox has no room.
absl::Status PushUnseen(std::string_view bytes, uint64_t left, Process& process,
                        Lane& lane);

}  // namespace actord::runtime
