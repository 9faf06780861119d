// A futex word on which a worker's thread sleeps.
//
// Thread-safety: Notify from any thread, Wait from the owner's.
#pragma once

#include <cstdint>

#include "runtime/system/atomic.h"

namespace actord::runtime {

class Parker {
 public:
  static constexpr uint64_t kForever = UINT64_MAX;

  // True: there was a notification, and Wait has consumed it. False:
  // `timeout_ns` has passed, or the sleep ended for no reason.
  bool Wait(uint64_t timeout_ns);
  void Notify();

 private:
  bool TryTake();

  // 0: no notification, 1: notified. Both sides exchange it with acq_rel, so
  // the woken thread sees everything that the notifier did before.
  Atomic<uint32_t> word_{0};
};

}  // namespace actord::runtime
