// What the tests of the timing wheel share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/scheduler/timer_wheel.h"
#include "runtime/system/random.h"

namespace actord::runtime {

inline constexpr uint64_t kTickNs = uint64_t{1} << TimerWheel::kTickShift;
// What a slot of the second level spans.
inline constexpr uint64_t kSlotNs = kTickNs * TimerWheel::kSlots;
inline constexpr size_t kAll = SIZE_MAX;

inline std::vector<uint64_t> Due(TimerWheel& wheel, uint64_t now_ns,
                                 size_t max = kAll) {
  std::vector<uint64_t> due;
  do {
    wheel.Advance(now_ns, max, due);
  } while (max == kAll && wheel.EarliestNs() <= now_ns);
  return due;
}

// Every order of magnitude up to an hour is as likely.
inline uint64_t RandomDelay(Random& random) {
  const uint64_t bits = random.Next() % 42;
  return random.Next() & ((uint64_t{1} << bits) - 1);
}

}  // namespace actord::runtime
