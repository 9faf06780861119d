// Says whether the system has threads left, for a library that cannot be told
// that it has none: gRPC ends the program, or waits for ever.
//
// Thread-safety: any thread.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace actord::daemon {

// Starts `count` threads and ends them again. INTERNAL: the system refused one;
// the message says who wanted them.
absl::Status CheckThreads(size_t count, const std::string& for_whom);

}  // namespace actord::daemon
