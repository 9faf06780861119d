// PIDs of durable processes. A store is divided into homes, and a durable
// process belongs to one of them for ever:
//
//   node         the top bit, and the number of the home in the other bits
//   incarnation  the epoch of the home when the process was made; each opening
//                of the store has a higher one
//   slot, generation  as in other PIDs
//
// So a durable PID stays the same over restarts, and is never used again. The
// node of a configuration is below 2^31, so no other PID has the top bit.
//
// Thread-safety: plain values.
#pragma once

#include <cstdint>

#include "runtime/process/pid.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

// The number of homes of a store.
inline constexpr uint32_t kHomes = 256;
inline constexpr uint32_t kHomeBit = uint32_t{1} << 31;

constexpr bool IsHomePid(const Pid& pid) { return (pid.node & kHomeBit) != 0; }

// The number of the home. Precondition: IsHomePid. At least kHomes: no store
// has such a home.
constexpr uint32_t HomeOf(const Pid& pid) {
  ACTORD_ASSERT_HOT(IsHomePid(pid), "home_pid.h: the PID has a home");
  return pid.node & ~kHomeBit;
}

// Precondition: `home` is below kHomeBit. No store has a home above kHomes.
constexpr Pid HomePid(uint32_t home, uint32_t epoch, uint32_t slot,
                      uint32_t generation) {
  ACTORD_ASSERT_HOT(home < kHomeBit, "home_pid.h: the number fits");
  return {kHomeBit | home, epoch, slot, generation};
}

}  // namespace actord::runtime
