// How much of the heap is in use.
#pragma once

#include <malloc.h>

#include <cstddef>

#include "tests/support/sanitizers.h"

#if ACTORD_ADDRESS_SANITIZER || ACTORD_THREAD_SANITIZER
// GCC provides the function, but not its header.
extern "C" size_t __sanitizer_get_current_allocated_bytes();
#endif

namespace actord::testing {

// Bytes allocated by the whole program. Under a sanitizer, its allocator counts
// them.
inline size_t HeapBytes() {
#if ACTORD_ADDRESS_SANITIZER || ACTORD_THREAD_SANITIZER
  return __sanitizer_get_current_allocated_bytes();
#else
  const struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
#endif
}

}  // namespace actord::testing
