// Where a worker's thread sleeps: one futex word.
//
// Thread-safety: Notify from any thread, Wait from the owner's.
#pragma once

#include <cstdint>

#include "runtime/system/atomic.h"

namespace actord::runtime {

class Parker {
 public:
  static constexpr uint64_t kForever = UINT64_MAX;

  // True: was notified, now or before, and the notification is taken. False:
  // `timeout_ns` has passed, or the sleep ended for no reason.
  bool Wait(uint64_t timeout_ns);
  void Notify();

 private:
  bool TryTake();

  // 0: none, 1: notified. Written by both; acq_rel: whatever the notifier did
  // before is seen by the one who wakes.
  Atomic<uint32_t> word_{0};
};

}  // namespace actord::runtime
