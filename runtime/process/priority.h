// Priorities: 0 is the lowest, and 31 is the highest. Each priority is a level
// of the queues. A set of levels is a bitmap, so the highest level is found in
// O(1).
#pragma once

#include <actord/abi.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "runtime/system/assert.h"

namespace actord::runtime {

inline constexpr int kPriorities = ACTORD_PRIORITY_HIGHEST + 1;
inline constexpr uint8_t kDefaultPriority = ACTORD_PRIORITY_DEFAULT;

constexpr bool IsPriority(int priority) {
  return priority >= 0 && priority < kPriorities;
}
// The priority in `spawn`, valid or not; the default if the spawn has none.
constexpr int PriorityOf(const actord_spawn& spawn) {
  constexpr size_t kSize = offsetof(actord_spawn, priority) + sizeof(uint32_t);
  return (spawn.flags & ACTORD_SPAWN_PRIORITY) != 0 &&
                 spawn.struct_size >= kSize
             ? static_cast<int>(spawn.priority)
             : kDefaultPriority;
}

inline constexpr uint32_t kAllLevels = UINT32_MAX;

constexpr uint32_t LevelBit(int level) { return uint32_t{1} << level; }
// All levels from `level` (0 to 32) up.
constexpr uint32_t LevelsFrom(int level) {
  return static_cast<uint32_t>(~uint64_t{0} << level);
}
// Precondition of both functions: `levels` is not empty.
constexpr int HighestLevel(uint32_t levels) {
  ACTORD_ASSERT_HOT(levels != 0, "priority.h: the set of levels is not empty");
  return kPriorities - 1 - std::countl_zero(levels);
}
constexpr int LowestLevel(uint32_t levels) {
  ACTORD_ASSERT_HOT(levels != 0, "priority.h: the set of levels is not empty");
  return std::countr_zero(levels);
}

}  // namespace actord::runtime
