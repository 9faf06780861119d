// A turn uses this interface to announce that its next call will block the
// thread. worker_threads.h implements it.
//
// Thread-safety: GiveAway is called on the thread of the hold.
#pragma once

#include "runtime/scheduler/hold.h"

namespace actord::runtime {

class BlockingCalls {
 public:
  // Gives the worker that `hold` is about to block to a spare thread. False: no
  // thread can take the worker, and the hold keeps the worker.
  virtual bool GiveAway(Hold& hold) = 0;

 protected:
  ~BlockingCalls() = default;
};

}  // namespace actord::runtime
