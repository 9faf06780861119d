// The counters of one worker, for statistics: the runtime itself does not read
// them.
//
// Thread-safety: the thread that holds the worker writes them, or the thread
// that has taken the worker from its holder and not given it away yet. Any
// thread may read them, a moment late.
#pragma once

#include "runtime/counters/counters.h"

namespace actord::runtime {

struct alignas(64) WorkerCounters {
  // Turns that ran a process. Published when the worker checks its timers and
  // when it finds nothing to do, so that counting costs a turn nothing. The
  // number lacks the last 16 turns at most.
  Counter turns;
  // Times that the worker took processes from another worker.
  Counter steals;
  // Times that the worker ended a sleep.
  Counter wake_ups;
  // Times that the worker was given to another thread because a call into a
  // plugin kept its own thread.
  Counter hand_overs;
};

}  // namespace actord::runtime
