// The classes of a turn, together.
//
// Thread-safety: belongs to one thread that runs workers.
#pragma once

#include "runtime/effects/applier.h"
#include "runtime/turn/beginning.h"
#include "runtime/turn/continuing.h"
#include "runtime/turn/inbox.h"
#include "runtime/turn/step_caller.h"
#include "runtime/turn/teardown.h"
#include "runtime/turn/upgrader.h"

namespace actord::runtime {

// The classes are members of one object, so that a turn reaches all of them
// from one address (performance-notes: The classes of a turn in one object).
//
// Ownership: borrowed by the ProcessRunner.
struct TurnParts {
  Inbox inbox;
  StepCaller caller;
  Beginning beginning;
  Applier applier;
  Upgrader upgrader;
  Teardown teardown;
  Continuing continuing;
};

}  // namespace actord::runtime
