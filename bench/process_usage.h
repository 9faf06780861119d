// Processor time and memory of this program.
//
// Thread-safety: any thread.
#pragma once

#include <cstdint>

namespace actord::bench {

// Processor time of all threads since the start, in seconds.
double CpuSeconds();
// Memory that is resident now, in bytes.
int64_t ResidentBytes();

}  // namespace actord::bench
