// The behaviour when the system has no memory left for an allocation. In plugin
// code the allocation throws std::bad_alloc, so that a process that asks for
// too much fails alone. Anywhere else nothing could go on safely: the program
// writes one line to standard error, and ends.
//
// Allocations of libraries in C do not come here; most of those end the program
// by SIGABRT (crash_report.h).
//
// Thread-safety: at most one object at a time, made and destroyed by one thread
// when no other thread allocates for a plugin.
#pragma once

#include <new>

#include "daemon/settings/config.h"

namespace actord::daemon {

class OutOfMemory {
 public:
  // `exit_status`: the status with which the program then ends.
  OutOfMemory(LogFormat format, int exit_status);
  ~OutOfMemory();
  OutOfMemory(const OutOfMemory&) = delete;
  OutOfMemory& operator=(const OutOfMemory&) = delete;

 private:
  const std::new_handler former_;
};

}  // namespace actord::daemon
