// Checks whether the system has threads left. gRPC cannot report a missing
// thread: it ends the program, or waits for ever.
//
// Thread-safety: any thread.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace actord::daemon {

// Starts `count` threads and ends them again. INTERNAL: the system refused a
// thread; the message names the library that needs them.
absl::Status CheckThreads(size_t count, const std::string& for_whom);

}  // namespace actord::daemon
