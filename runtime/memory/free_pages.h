// Gives whole pages of free memory back to the system. The memory keeps its
// addresses; its content is lost, and the next write brings a page of zeros.
//
// Thread-safety: none. Ownership: borrows the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace actord::runtime {

class FreePages {
 public:
  // `regions`: the memory in which the free blocks lie, each of `region_bytes`,
  // in any order.
  FreePages(const std::vector<void*>& regions, size_t region_bytes);

  // Marks a block as free. Precondition: it lies in a region, and has not been
  // marked.
  void Add(const void* block, size_t bytes);

  // Gives back the pages whose blocks are all marked. Returns their bytes.
  // Nobody may use these pages while it runs.
  size_t GiveBack();

 private:
  const size_t region_bytes_;
  const size_t page_bytes_;
  const size_t pages_of_region_;
  std::vector<uintptr_t> regions_;  // sorted
  // The free bytes of each page that a region touches, region by region.
  std::vector<uint32_t> free_bytes_;
};

}  // namespace actord::runtime
