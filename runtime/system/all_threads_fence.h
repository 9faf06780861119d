// A memory fence that one thread executes for all threads of the process. So
// one side of a rare exchange pays for the fence of the other side, which is
// frequent and pays nothing but for what the compiler may not reorder.
//
// Thread-safety: any thread.
#pragma once

#include <atomic>

namespace actord::runtime {

// Whether this kernel can do it and lets this process do it.
bool CanFenceAllThreads();

// When it returns, each thread of the process has executed a full fence since
// the call. It takes some microseconds, and interrupts threads that run.
// Precondition: CanFenceAllThreads().
void FenceAllThreads();

// Where another thread's FenceAllThreads takes effect: what is before it in the
// program is not moved behind it, or the other way round, by the compiler; and
// by the processor not across a FenceAllThreads.
inline void FencedByOthers() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace actord::runtime
