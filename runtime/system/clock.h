// The only source of time for everything in the runtime.
#pragma once

#include <cstdint>

namespace actord::runtime {

// Thread-safety: implementations may be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic, from an arbitrary origin, in nanoseconds.
  [[nodiscard]] virtual uint64_t MonotonicNs() const = 0;
  // The same clock at a seventh of the cost. The value may be some milliseconds
  // old.
  [[nodiscard]] virtual uint64_t CoarseMonotonicNs() const {
    return MonotonicNs();
  }
  // Since the Unix epoch, in nanoseconds; may jump.
  [[nodiscard]] virtual uint64_t UnixNs() const = 0;

  // The system's clocks. The object lives until the program ends.
  static const Clock& System();
};

// A monotonic time that continues over restarts. (Not a Clock: with one kind of
// Clock in the program, the compiler inlines the system's clocks.)
class LastingTime {
 public:
  // In nanoseconds. From any thread.
  [[nodiscard]] virtual uint64_t NowNs() const = 0;

 protected:
  ~LastingTime() = default;
};

}  // namespace actord::runtime
