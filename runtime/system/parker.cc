#include "runtime/system/parker.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/system/fail_point.h"

namespace actord::runtime {

bool Parker::TryTake() {
  return word_.exchange(0, std::memory_order_acq_rel) == 1;
}

bool Parker::Wait(uint64_t timeout_ns) {
  if (TryTake()) return true;
#ifdef ACTORD_FAIL_POINTS
  if (interleaver != nullptr) {
    interleaver->Wait(this, timeout_ns);
    return TryTake();
  }
#endif
  constexpr uint64_t kNsPerSecond = 1'000'000'000;
  const timespec timeout{static_cast<time_t>(timeout_ns / kNsPerSecond),
                         static_cast<long>(timeout_ns % kNsPerSecond)};
  // After every outcome (woken, notified before the sleep began, interrupted,
  // timed out) the word alone decides.
  syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0,
          timeout_ns == kForever ? nullptr : &timeout, nullptr, 0);
  return TryTake();
}

void Parker::Notify() {
  if (word_.exchange(1, std::memory_order_acq_rel) == 0) {
#ifdef ACTORD_FAIL_POINTS
    if (interleaver != nullptr) return interleaver->Wake(this);
#endif
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
}

}  // namespace actord::runtime
