// An atomic that prices its accesses: std::atomic, but in a test's build each
// access first says to the interleaver what it does to which memory
// (fail_point.h), so that the simulated machine adds its cost
// (tests/sim/scaling/machine.h). Threads change at fail points alone, not here.
//
// It is for words that several processors use, where that is what may cost.
//
// Thread-safety: any thread, as std::atomic.
#pragma once

#include <atomic>

#ifdef ACTORD_FAIL_POINTS
#include "runtime/system/fail_point.h"
#endif

namespace actord::runtime {

#ifndef ACTORD_FAIL_POINTS

template <typename T>
using Atomic = std::atomic<T>;

// The same word, whose accesses are free: those of a thread that has just had
// its line, or is about to pay for it.
template <typename T>
[[gnu::always_inline]] inline std::atomic<T>& Unpriced(std::atomic<T>& atomic) {
  return atomic;
}

#else

template <typename T>
class Atomic {
 public:
  constexpr Atomic() = default;
  // Implicit, as std::atomic's.
  constexpr Atomic(T value) : value_(value) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const {
    WillRead(this);
    return value_.load(order);
  }
  operator T() const { return load(); }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) {
    WillWrite(this);
    value_.store(value, order);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) {
    WillChange(this);
    return value_.exchange(value, order);
  }
  T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst) {
    WillChange(this);
    return value_.fetch_add(value, order);
  }
  T fetch_sub(T value, std::memory_order order = std::memory_order_seq_cst) {
    WillChange(this);
    return value_.fetch_sub(value, order);
  }
  // One that fails costs the same: it has brought the line.
  template <typename... Orders>
  bool compare_exchange_strong(T& expected, T value, Orders... orders) {
    WillChange(this);
    return value_.compare_exchange_strong(expected, value, orders...);
  }
  template <typename... Orders>
  bool compare_exchange_weak(T& expected, T value, Orders... orders) {
    WillChange(this);
    return value_.compare_exchange_weak(expected, value, orders...);
  }

 private:
  template <typename Other>
  friend std::atomic<Other>& Unpriced(Atomic<Other>& atomic);

  std::atomic<T> value_{};
};

template <typename T>
std::atomic<T>& Unpriced(Atomic<T>& atomic) {
  return atomic.value_;
}

#endif

}  // namespace actord::runtime
