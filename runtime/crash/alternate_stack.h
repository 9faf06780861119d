// A stack for the signal handlers of one thread. A handler on the stack of the
// thread could not run after that stack has overflowed.
//
// The memory is reserved first, and taken when a handler uses it. An
// inaccessible page below it ends a handler that needs more. A thread that has
// an alternate stack already keeps that stack; AddressSanitizer gives each
// thread one. If the system has no memory left, the thread has no such stack: a
// stack overflow then ends the program without a report.
//
// Thread-safety: the constructor and the destructor on the thread that the
// object serves. On a simulated thread (fail_point.h) the object does nothing.
#pragma once

#include <cstddef>

namespace actord::runtime {

class AlternateStack {
 public:
  // The unwinder and the reader of symbols need a third of it.
  static constexpr size_t kMinBytes = size_t{128} << 10;

  AlternateStack();
  ~AlternateStack();
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

  // Whether the thread uses the memory of this object.
  [[nodiscard]] bool is_in_use() const { return memory_ != nullptr; }

 private:
  // Includes the inaccessible page.
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace actord::runtime
