// Memory that the program writes to for the first time.
//
// Thread-safety: any thread.
#pragma once

#include <cstddef>

namespace actord::runtime {

// All of this memory will be written to soon: brings its pages together, which
// costs less than a page fault for each; a fifth, where a hypervisor keeps the
// page tables. A hint: without it, or where the kernel does not know it (before
// Linux 5.14), each page comes when it is first written to.
void BringPages(void* memory, size_t bytes);

}  // namespace actord::runtime
