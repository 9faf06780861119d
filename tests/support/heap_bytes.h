// How much of the heap is in use.
#pragma once

#include <malloc.h>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// GCC has the function and not its header.
extern "C" size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace actord::testing {

// By all of this program. A sanitizer counts for itself.
inline size_t HeapBytes() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
#endif
}

}  // namespace actord::testing
