// Places between two atomic operations where a test build lets other threads
// run. An interleaving that takes days to occur by itself then occurs at once.
// In all other builds these functions are empty.
//
// Thread-safety: any thread.
#pragma once

#ifdef ACTORD_FAIL_POINTS
#include <sched.h>

#include <cstdint>
#include <functional>
#endif

namespace actord::runtime {

#ifdef ACTORD_FAIL_POINTS

// How a thread accesses shared memory. A change reads and writes.
enum class Access { kRead, kWrite, kChange };

// Replaces the system's scheduler and clock on a thread that simulates all
// threads of a runtime (tests/sim). Code that starts a thread, waits or wakes
// calls the interleaver if there is one (thread.h, mutex.h, parker.cc).
class Interleaver {
 public:
  virtual ~Interleaver() = default;

  // Another thread may run before this returns.
  virtual void MaySwitch() = 0;
  // The same, and the thread may be kept for so long that timers become due.
  virtual void MayStall() { MaySwitch(); }
  // Other threads run until a thread calls Wake(what) or `timeout_ns` has
  // passed. The wait may also end for no reason. False: the time has passed.
  virtual bool Wait(const void* what, uint64_t timeout_ns) = 0;
  virtual void Wake(const void* what) = 0;
  // Starts a simulated thread and returns its number. Join waits for its end.
  virtual uint64_t Start(std::function<void()> run) = 0;
  virtual void Join(uint64_t thread) = 0;

  // Called just before an access, for an interleaver that counts costs.
  virtual void Touch(const void* /*address*/, Access /*access*/) {}
  // The caller failed to lock `mutex` and waits until it may be unlocked.
  virtual void AwaitMutex(const void* mutex) { Wait(mutex, kForever); }
  virtual void ReleasedMutex(const void* mutex) { Wake(mutex); }
  // The caller has nothing to do. Yield lets other threads run, and Pause waits
  // for a moment.
  virtual void Yield() { MaySwitch(); }
  virtual void Pause() {}

  static constexpr uint64_t kForever = UINT64_MAX;
};
inline constinit thread_local Interleaver* interleaver = nullptr;

// Lets other threads run in one of eight calls at random, or as the interleaver
// decides.
inline void FailPoint() {
  if (interleaver != nullptr) {
    interleaver->MaySwitch();
    return;
  }
  thread_local uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  if (state >> 61 == 0) sched_yield();
}

// A fail point in a race that only a long pause of this thread decides.
inline void LongFailPoint() {
  if (interleaver != nullptr) {
    interleaver->MayStall();
  } else {
    FailPoint();
  }
}

// Called before an access to memory that several processors use, if the sharing
// may be costly (tests/sim/scaling/machine.h).
inline void WillRead(const void* address) {
  if (interleaver != nullptr) interleaver->Touch(address, Access::kRead);
}
inline void WillWrite(const void* address) {
  if (interleaver != nullptr) interleaver->Touch(address, Access::kWrite);
}
inline void WillChange(const void* address) {
  if (interleaver != nullptr) interleaver->Touch(address, Access::kChange);
}
#else
inline void FailPoint() {}
inline void LongFailPoint() {}
inline void WillRead(const void* /*address*/) {}
inline void WillWrite(const void* /*address*/) {}
inline void WillChange(const void* /*address*/) {}
#endif

}  // namespace actord::runtime
