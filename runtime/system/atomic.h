// An atomic that prices its accesses. In a release build it is std::atomic. In
// a test build each access first reports its address and kind to the
// interleaver (fail_point.h), and the simulated machine adds the cost
// (tests/sim/scaling/machine.h). Threads switch at fail points, not here.
//
// For words that several processors use and whose sharing may be costly.
//
// Thread-safety: any thread, as std::atomic.
// performance-notes: Inlined by force.
#pragma once

#include <atomic>

#ifdef ACTORD_FAIL_POINTS
#include "runtime/system/fail_point.h"
#endif

namespace actord::runtime {

#ifndef ACTORD_FAIL_POINTS

template <typename T>
using Atomic = std::atomic<T>;

// The same word with free accesses: for a thread that already has the cache
// line, or pays for the line with its next access.
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
  // A failed exchange costs the same, because it fetched the cache line.
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
