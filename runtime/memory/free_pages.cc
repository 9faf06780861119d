#include "runtime/memory/free_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/system/assert.h"

namespace actord::runtime {

FreePages::FreePages(const std::vector<void*>& regions, size_t region_bytes)
    : region_bytes_(region_bytes),
      page_bytes_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
      // A region may begin and end within a page.
      pages_of_region_(region_bytes / page_bytes_ + 2),
      free_bytes_(regions.size() * pages_of_region_) {
  regions_.reserve(regions.size());
  for (void* region : regions) {
    regions_.push_back(reinterpret_cast<uintptr_t>(region));
  }
  std::sort(regions_.begin(), regions_.end());
}

void FreePages::Add(const void* block, size_t bytes) {
  auto address = reinterpret_cast<uintptr_t>(block);
  const auto after =
      std::upper_bound(regions_.begin(), regions_.end(), address);
  ACTORD_ASSERT(after != regions_.begin(), "free_pages.h: it lies in a region");
  const auto number = static_cast<size_t>(after - regions_.begin()) - 1;
  const uintptr_t region = regions_[number];
  ACTORD_ASSERT(address + bytes <= region + region_bytes_,
                "free_pages.h: it lies in a region");
  const uintptr_t first_page = region / page_bytes_;
  while (bytes != 0) {
    const size_t part = std::min(bytes, page_bytes_ - address % page_bytes_);
    const size_t page = address / page_bytes_ - first_page;
    free_bytes_[number * pages_of_region_ + page] +=
        static_cast<uint32_t>(part);
    address += part;
    bytes -= part;
  }
}

size_t FreePages::GiveBack() {
  size_t given = 0;
  for (size_t number = 0; number < regions_.size(); ++number) {
    const uint32_t* const pages = &free_bytes_[number * pages_of_region_];
    const uintptr_t base = regions_[number] / page_bytes_ * page_bytes_;
    for (size_t first = 0; first < pages_of_region_;) {
      size_t past = first;
      while (past < pages_of_region_ && pages[past] == page_bytes_) ++past;
      const size_t bytes = (past - first) * page_bytes_;
      auto* const memory =
          reinterpret_cast<void*>(base + first * page_bytes_);  // NOLINT
      // A failure only costs memory.
      if (bytes != 0 && madvise(memory, bytes, MADV_DONTNEED) == 0) {
        given += bytes;
      }
      first = past + 1;
    }
  }
  return given;
}

}  // namespace actord::runtime
