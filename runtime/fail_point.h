// Places between two atomic operations where, in a test's build, other threads
// get to run: what takes days to happen by itself then happens at once. In all
// other builds there is nothing.
//
// Thread-safety: any thread.
#pragma once

#ifdef ACTORD_FAIL_POINTS
#include <sched.h>

#include <cstdint>
#endif

namespace actord::runtime {

#ifdef ACTORD_FAIL_POINTS
// Every eighth time, in no regular order.
inline void FailPoint() {
  thread_local uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  if (state >> 61 == 0) sched_yield();
}
#else
inline void FailPoint() {}
#endif

}  // namespace actord::runtime
