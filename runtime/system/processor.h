// What a processor can be told beside what to compute. Hints: they change how
// long something takes, and nothing else.
#pragma once

#include "runtime/system/fail_point.h"

namespace actord::runtime {

// The thread is in a loop that waits for another one.
inline void RelaxCpu() {
#ifdef ACTORD_FAIL_POINTS
  if (interleaver != nullptr) return interleaver->Pause();
#endif
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The cache line at `address` will be read soon. The address need not be a
// valid one.
inline void PrefetchForRead(const void* address) {
  __builtin_prefetch(address);
}

// The cache line at `address` will be written to soon. The address need not be
// a valid one, either.
inline void PrefetchForWrite(const void* address) {
#if defined(__x86_64__)
  // Not __builtin_prefetch: for the oldest x86-64 it fetches the line for
  // reading, and the write then waits for all other caches once more. Where
  // the instruction is unknown it does nothing.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace actord::runtime
