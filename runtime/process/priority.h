// Priorities: 0 is the lowest, and 31 is the highest. Each priority is a level
// of the queues. A set of levels is a bitmap, so the highest level is found in
// O(1).
#pragma once

#include <actord/abi.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "handlers/rules/process_rules.h"
#include "runtime/system/assert.h"

namespace actord::runtime {

inline constexpr int kPriorities = ACTORD_PRIORITY_HIGHEST + 1;
inline constexpr uint8_t kDefaultPriority = ACTORD_PRIORITY_DEFAULT;

using rules::IsPriority;
using rules::PriorityOf;

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
