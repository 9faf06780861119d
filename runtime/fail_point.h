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
#else
inline void FailPoint() {}
#endif

}  // namespace actord::runtime
