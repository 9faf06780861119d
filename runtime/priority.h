// Priorities: 0 is the lowest, 31 the highest. Each is a level of the queues; a
// set of levels is a bitmap, so that the highest is found in O(1).
#pragma once

#include <bit>
#include <cstdint>

namespace actord::runtime {

inline constexpr int kPriorities = 32;
inline constexpr uint8_t kDefaultPriority = 16;

inline constexpr uint32_t kAllLevels = UINT32_MAX;

constexpr uint32_t LevelBit(int level) { return uint32_t{1} << level; }
// All levels from `level` (0 to 32) on.
constexpr uint32_t LevelsFrom(int level) {
  return static_cast<uint32_t>(~uint64_t{0} << level);
}
// Precondition of both: there is one.
constexpr int HighestLevel(uint32_t levels) {
  return std::bit_width(levels) - 1;
}
constexpr int LowestLevel(uint32_t levels) { return std::countr_zero(levels); }

}  // namespace actord::runtime
