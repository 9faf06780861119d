// The counters of one worker, or of all other threads together. Users see the
// sums over all workers and threads.
// performance-notes: Inlined by force.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/counters/counter_table.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {

// Any thread may read a counter, a moment late. Release and acquire: a thread
// that has seen one count sees all that the same thread counted before.
class Counter {
 public:
  // For the one thread that owns this counter: no RMW.
  [[gnu::always_inline]] void Add(uint64_t count = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + count,
                 std::memory_order_release);
  }
  // For a counter that threads share.
  void AddShared(uint64_t count = 1) {
    WillChange(&value_);
    value_.fetch_add(count, std::memory_order_release);
  }
  uint64_t Get() const { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint64_t> value_{0};
};

// One counter for each LANE row of counter_table.h.
struct alignas(64) Counters {
#define ACTORD_LANE_COUNTER(member, ...) Counter member;
#define ACTORD_NO_COUNTER(...)
  ACTORD_COUNTERS(ACTORD_LANE_COUNTER, ACTORD_NO_COUNTER, ACTORD_NO_COUNTER)
#undef ACTORD_LANE_COUNTER
#undef ACTORD_NO_COUNTER

  // Processes that a shutdown terminated. It has no row, because only the
  // report of that shutdown shows it.
  Counter processes_forced;
};

}  // namespace actord::runtime
