// The behaviour when the system has no memory left for an allocation. In plugin
// code the allocation throws std::bad_alloc, so that a process that asks for
// too much fails alone. Anywhere else nothing could go on safely: the program
// writes one line to standard error, and ends.
//
// This holds for
//   - operator new: the new handler;
//   - gRPC: out_of_memory.cc replaces gpr_malloc, which would abort, and
//     MemoryAllocator::MakeSlice, which would use a null pointer;
//   - std::bad_alloc, and an error of std::thread, that nobody catches, as in
//      a library or a noexcept function: the terminate handler.
// Other libraries in C, such as OpenSSL, return an error to their caller.
//
// Thread-safety: at most one object at a time, made and destroyed by one thread
// when no other thread allocates for a plugin.
#pragma once

#include <exception>
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

  // The same behaviour before there is a configuration. Uses no memory, so it
  // may run before all other code of the program. It is never undone.
  static void HandleFromNowOn(int exit_status);
  // Called when an allocation has failed. Throws std::bad_alloc in plugin code,
  // and ends the program in all other code.
  static void Refused();

 private:
  const std::new_handler former_;
  const std::terminate_handler former_terminate_;
};

}  // namespace actord::daemon
