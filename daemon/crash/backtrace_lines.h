// The backtrace of a fault as lines: "#0 at /path/orders.so+0x1a2b
// (_ZN6Orders4StepEv+0x1b)". addr2line -e PATH takes the number after the path;
// c++filt makes the name of the function readable.
//
// Thread-safety: PrepareBacktraces once, before the others. The others may be
// called in a signal handler, though backtrace() of the C library is not on
// POSIX's list of such functions: glibc's takes no lock and no heap once the
// unwinder is loaded (PrepareBacktraces) and as long as no code has registered
// frames by hand; the unwinder finds the frames of a file with _dl_find_object,
// which takes no lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/crash/crash_text.h"

namespace actord::daemon {

// Loads the unwinder.
void PrepareBacktraces();

// The addresses of a backtrace, the innermost first.
class Backtrace {
 public:
  static constexpr size_t kMaxFrames = 64;

  // The backtrace of the fault's thread. To be called by the signal handler on
  // that thread.
  explicit Backtrace(const Fault& fault);

  [[nodiscard]] size_t size() const { return size_; }
  // The frames after the last one were left out.
  [[nodiscard]] bool is_cut() const { return is_cut_; }
  // Appends the line of frame `index`.
  void Append(size_t index, CrashText& text) const;

 private:
  // A handler, the frames that it calls, and the kernel's frame for it.
  static constexpr size_t kMaxOwnFrames = 16;

  void TakeCallerOf(const Fault& fault);

  std::array<void*, kMaxFrames + kMaxOwnFrames> addresses_;
  // The frames are [first_, first_ + size_) of the addresses.
  size_t first_ = 0;
  size_t size_ = 0;
  bool is_cut_ = false;
};

}  // namespace actord::daemon
