// Threads that gRPC gets when the system has none left.
//
// gRPC 1.51 does not notice that the system has refused it a thread. The calls
// that wait for this thread are never answered, not even when the system has
// threads again. So the daemon keeps kThreads threads from its start on, and
// replaces pthread_create for the whole program: if the system refuses a thread
// to gRPC's libraries, a kept thread runs the function instead. All other
// callers get the error, because they handle it. Later calls of pthread_create
// fill the reserve again, as soon as the system has threads.
//
// gRPC asks for few threads at a time, and asks again after a pause. If the
// reserve is empty, gRPC gets the error.
//
// The sanitizers replace pthread_create, too. In their builds there is no
// reserve.
//
// Thread-safety: any thread. The one reserve of the program has no owner,
// because pthread_create has no argument that could name one.
#pragma once

#include <cstddef>

#include "absl/status/status.h"

namespace actord::daemon {

class ThreadReserve {
 public:
  static constexpr size_t kThreads = 8;

  // Starts the kept threads. They last as long as the program. INTERNAL: the
  // system has no thread left.
  static absl::Status Fill();
};

}  // namespace actord::daemon
