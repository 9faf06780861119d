// A clock that calls a function whenever somebody asks it for the time: a
// test's way between two steps of an operation. Its wall clock can be set back.
//
// Thread-safety: one thread. Ownership: borrows the clock that it shows.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/system/clock.h"

namespace actord::runtime {

class HookedClock final : public Clock {
 public:
  explicit HookedClock(const Clock& clock) : clock_(clock) {}

  [[nodiscard]] uint64_t MonotonicNs() const override {
    if (hook) hook();
    return clock_.MonotonicNs();
  }
  [[nodiscard]] uint64_t UnixNs() const override {
    return clock_.UnixNs() - set_back_ns;
  }

  std::function<void()> hook;
  uint64_t set_back_ns = 0;

 private:
  const Clock& clock_;
};

}  // namespace actord::runtime
