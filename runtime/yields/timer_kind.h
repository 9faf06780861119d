// What a timer is for. A wheel of timers carries 64 bits for each timer and
// does not look at them; this header alone says what they mean:
//
//   bits 63 to 32   generation of the slot
//   bits 31 to 28   TimerKind
//   bits 27 to 0    slot: of the yield's record or of the process
//
// Generation and slot together are the handle. For a yield it is the
// actord_completion of the yield.
//
// To add a kind: add it to the enumeration here, and to the two switches of
// due_timers.cc, which say who is called when such a timer fires and whether
// somebody still wants it. The compiler names a switch that misses a kind.
//
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace actord::runtime {

enum class TimerKind : uint8_t {
  kYieldResult,     // completes a yield with an empty result
  kYieldTimeout,    // completes a yield as DEADLINE_EXCEEDED
  kLifetime,        // ends a process that has lived as long as it may
  kCancelDeadline,  // terminates a process that its cancel did not end
};

inline constexpr int kTimerSlotBits = 28;
inline constexpr size_t kTimerMaxSlots = size_t{1} << kTimerSlotBits;
inline constexpr uint64_t kTimerKindMask = uint64_t{0xf} << kTimerSlotBits;

// The handle of a slot below kTimerMaxSlots.
constexpr uint64_t TimerHandle(uint32_t slot, uint32_t generation) {
  return (uint64_t{generation} << 32) | slot;
}

constexpr uint64_t EncodeTimer(TimerKind kind, uint64_t handle) {
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
