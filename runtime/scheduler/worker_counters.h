// What is counted for each worker, for people: the runtime itself does not read
// it.
//
// Thread-safety: written by the thread that holds the worker, or that has taken
// it from its holder and not given it yet; read by any thread, a moment late.
#pragma once

#include "runtime/process/counters.h"

namespace actord::runtime {

struct alignas(64) WorkerCounters {
  // Turns that ran a process. Published when the worker checks its timers, and
  // when it finds nothing to do: so a turn costs no more, and the number lacks
  // the last 16 turns at most.
  Counter turns;
  // Times that it took processes from another worker.
  Counter steals;
  // Times that a sleep of it ended.
  Counter wake_ups;
  // Times that it was given to another thread, because a call into a plugin
  // kept its own.
  Counter hand_overs;
};

}  // namespace actord::runtime
