// The journal, applied once more, makes the same state store.
//
// Thread-safety: one thread.
#pragma once

#include "runtime/durable/opened_store.h"
#include "tests/runtime/store/memory_state_store.h"
#include "tests/sim/store/outside.h"

namespace actord::sim {

// Checks it. Preconditions: no round has ended, because the end of a round
// changes the state by itself; nothing is appended meanwhile.
void CheckReplay(const Outside& outside, runtime::OpenedStore& store,
                 const runtime::MemoryStateStore& state);

}  // namespace actord::sim
