// A memory fence that one thread executes for all threads of the process. The
// rare side of an exchange pays for the fence of the frequent side. The
// frequent side then needs a compiler fence alone.
//
// Thread-safety: any thread.
#pragma once

#include <atomic>

namespace actord::runtime {

// Whether this kernel can do it and lets this process do it.
bool CanFenceAllThreads();

// Executes a full fence on each thread of the process before it returns. The
// call takes some microseconds and interrupts running threads.
// Precondition: CanFenceAllThreads().
void FenceAllThreads();

// Marks where another thread's FenceAllThreads takes effect. The compiler moves
// no access across this call. The processor moves no access across a
// FenceAllThreads.
inline void FencedByOthers() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace actord::runtime
