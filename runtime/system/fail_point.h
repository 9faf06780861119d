// Places between two atomic operations where, in a test's build, other threads
// get to run: what takes days to happen by itself then happens at once. In all
// other builds there is nothing.
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

// What a thread does to memory that others use, too.
enum class Access { kRead, kWrite, kChange };  // a change reads and writes

// Stands in for the system's scheduler and clock on a thread that plays all
// threads of a runtime (tests/sim). Everything that starts a thread, waits or
// wakes asks it, if there is one (thread.h, mutex.h, parker.cc).
class Interleaver {
 public:
  virtual ~Interleaver() = default;

  // Another thread may run before this returns.
  virtual void MaySwitch() = 0;
  // Others run until somebody calls Wake(what), or `timeout_ns` has passed, or
  // for no reason. False: the time has passed.
  virtual bool Wait(const void* what, uint64_t timeout_ns) = 0;
  virtual void Wake(const void* what) = 0;
  // A thread; Join waits for its end.
  virtual uint64_t Start(std::function<void()> run) = 0;
  virtual void Join(uint64_t thread) = 0;

  // For those who count what things cost; otherwise there is nothing to them.
  // Called just before the access.
  virtual void Touch(const void* /*address*/, Access /*access*/) {}
  // The caller, who did not get `mutex`, waits until somebody may have let go.
  virtual void AwaitMutex(const void* mutex) { Wait(mutex, kForever); }
  virtual void ReleasedMutex(const void* mutex) { Wake(mutex); }
  // The caller has nothing to do: lets others run, or waits for a moment.
  virtual void Yield() { MaySwitch(); }
  virtual void Pause() {}

  static constexpr uint64_t kForever = UINT64_MAX;
};
inline constinit thread_local Interleaver* interleaver = nullptr;

// Every eighth time, in no regular order; or as the interleaver decides.
inline void FailPoint() {
  if (interleaver != nullptr) {
    interleaver->MaySwitch();
    return;
  }
  thread_local uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  if (state >> 61 == 0) sched_yield();
}

// Stand before the accesses to memory that several processors use, where that
// is what may cost (tests/sim/scaling/machine.h).
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
inline void WillRead(const void* /*address*/) {}
inline void WillWrite(const void* /*address*/) {}
inline void WillChange(const void* /*address*/) {}
#endif

}  // namespace actord::runtime
