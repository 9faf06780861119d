#include "runtime/system/fresh_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace actord::runtime {

void BringPages(void* memory, size_t bytes) {
  static const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  // Whole pages only: the pages at its ends also belong to its neighbours.
  const size_t past = reinterpret_cast<uintptr_t>(memory) % page_bytes;
  const size_t skipped = past == 0 ? 0 : page_bytes - past;
  if (bytes < skipped + page_bytes) return;
  const size_t whole = (bytes - skipped) / page_bytes * page_bytes;
  // A failure costs time and nothing else.
  (void)madvise(static_cast<std::byte*>(memory) + skipped, whole,
                MADV_POPULATE_WRITE);
}

}  // namespace actord::runtime
