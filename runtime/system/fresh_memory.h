// Memory that the program writes to for the first time.
//
// Thread-safety: any thread.
#pragma once

#include <cstddef>

namespace actord::runtime {

// Maps all pages of memory that will be written to soon. That costs less than a
// page fault for each page: a fifth, if a hypervisor keeps the page tables.
// A hint: without it, or on a kernel before Linux 5.14, each page is mapped by
// its first write.
void BringPages(void* memory, size_t bytes);

}  // namespace actord::runtime
