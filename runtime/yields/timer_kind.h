// The purpose of a timer. A timer wheel carries 64 bits for each timer and does
// not interpret them. This header alone defines their meaning:
//
//   bits 63 to 32   generation of the slot
//   bits 31 to 28   TimerKind
//   bits 27 to 0    slot of the yield's record or of the process
//
// Generation and slot together are the handle. The handle of a yield is its
// actord_completion.
//
// To add a kind, add it to the enumeration here and to the two switches of
// due_timers.cc. One calls the function that handles such a timer when it
// fires, the other decides whether the timer is still wanted. The compiler
// reports a switch that misses a kind.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/system/assert.h"

namespace actord::runtime {

enum class TimerKind : uint8_t {
  kYieldResult,     // completes a yield with an empty result
  kYieldTimeout,    // completes a yield as DEADLINE_EXCEEDED
  kLifetime,        // ends a process that has reached its maximum lifetime
  kCancelDeadline,  // terminates a process that missed its cancel's deadline
};

inline constexpr int kTimerSlotBits = 28;
inline constexpr size_t kTimerMaxSlots = size_t{1} << kTimerSlotBits;
inline constexpr uint64_t kTimerKindMask = uint64_t{0xf} << kTimerSlotBits;

// The handle of a slot below kTimerMaxSlots.
constexpr uint64_t TimerHandle(uint32_t slot, uint32_t generation) {
  return (uint64_t{generation} << 32) | slot;
}

constexpr uint64_t EncodeTimer(TimerKind kind, uint64_t handle) {
  ACTORD_ASSERT_HOT((handle & kTimerKindMask) == 0,
                    "timer_kind.h: the slot is below kTimerMaxSlots");
  return handle | (uint64_t{static_cast<uint8_t>(kind)} << kTimerSlotBits);
}
constexpr TimerKind KindOfTimer(uint64_t timer) {
  return static_cast<TimerKind>((timer & kTimerKindMask) >> kTimerSlotBits);
}
constexpr uint64_t HandleOfTimer(uint64_t timer) {
  return timer & ~kTimerKindMask;
}

constexpr bool IsOfYield(TimerKind kind) {
  return kind == TimerKind::kYieldResult || kind == TimerKind::kYieldTimeout;
}

}  // namespace actord::runtime
