// Hints to the processor. They change only the time that something takes.
// performance-notes: Prefetch of due timers, Results chained.
#pragma once

#include "runtime/system/fail_point.h"

namespace actord::runtime {

// The calling thread spins until another thread has done something.
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
// a valid one.
inline void PrefetchForWrite(const void* address) {
#if defined(__x86_64__)
  // Not __builtin_prefetch: compiled for the oldest x86-64, it fetches the line
  // for reading, and the write then waits for all other caches again. A
  // processor that does not know PREFETCHW ignores it.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace actord::runtime
