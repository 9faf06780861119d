// Whether other work of a worker goes before the process that it runs.
//
// Thread-safety: from the thread that runs the worker.
#pragma once

#include <cstdint>

#include "runtime/scheduler/scheduler.h"

namespace actord::runtime {

// Whether work waits that is at least as urgent as `priority`. `here`: null if
// the thread has no worker; then no work is known.
[[nodiscard]] inline bool HasWorkAhead(const WorkerQueue* here,
                                       const Scheduler& scheduler,
                                       int priority) {
  if (here == nullptr) return false;
  const uint32_t others =
      here->ready.NonEmptyFromTop() | scheduler.GlobalLevels();
  return here->next != nullptr || others >> priority != 0;
}

// Whether the process may take one more step in the same turn. False if the
// thread has lost its worker, if a process has become ready, or if the queue
// holds work for which no worker was woken: the worker takes care of that work
// at the start of a turn. The comparison is that of Worker::TakeReady: no
// process of a higher priority is ready.
[[nodiscard]] inline bool MayStepAgain(const WorkerQueue* here,
                                       const Scheduler& scheduler,
                                       int priority) {
  if (here == nullptr || here->next != nullptr || here->is_quiet) return false;
  const uint64_t levels = here->ready.levels() | scheduler.GlobalWord();
  return levels >> priority <= 1;
}

}  // namespace actord::runtime
