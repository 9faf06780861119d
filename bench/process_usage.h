// What this program uses of the machine.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>

namespace actord::bench {

// Processor time of all threads since the start.
double CpuSeconds();
// Memory that is resident now.
int64_t ResidentBytes();

}  // namespace actord::bench
