// The way for a turn to say that the call it is about to make will block its
// thread (worker_threads.h answers it).
//
// Thread-safety: GiveAway is called on the thread of the hold.
#pragma once

#include "runtime/scheduler/hold.h"

namespace actord::runtime {

class BlockingCalls {
 public:
  // Gives the worker that `hold` is about to block to a spare thread. False:
  // no thread can take the worker, and the hold keeps it.
  virtual bool GiveAway(Hold& hold) = 0;

 protected:
  ~BlockingCalls() = default;
};

}  // namespace actord::runtime
