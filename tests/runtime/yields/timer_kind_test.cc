#include "runtime/yields/timer_kind.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "runtime/effects/call_handle.h"

namespace actord::runtime {
namespace {

constexpr std::array kKinds = {TimerKind::kYieldResult,
                               TimerKind::kYieldTimeout, TimerKind::kLifetime,
                               TimerKind::kCancelDeadline};

TEST(TimerKind, KindAndHandleComeBackFromTheirTimer) {
  constexpr uint32_t kLastSlot = kTimerMaxSlots - 1;
  for (const TimerKind kind : kKinds) {
    for (const uint32_t slot : {0u, 1u, kLastSlot}) {
      for (const uint32_t generation : {0u, 1u, UINT32_MAX}) {
        const uint64_t handle = TimerHandle(slot, generation);
        const uint64_t timer = EncodeTimer(kind, handle);
        EXPECT_EQ(KindOfTimer(timer), kind) << slot << ' ' << generation;
        EXPECT_EQ(HandleOfTimer(timer), handle) << slot << ' ' << generation;
      }
    }
  }
}

TEST(TimerKind, TimersOfOneHandleDifferByTheirKind) {
  std::set<uint64_t> timers;
  for (const TimerKind kind : kKinds) {
    timers.insert(EncodeTimer(kind, TimerHandle(7, 9)));
  }
  EXPECT_EQ(timers.size(), kKinds.size());
}

TEST(CallHandle, YieldsAndCallsFromOutsideAreToldApart) {
  constexpr uint32_t kLastSlot = SlotTable<YieldRecord>::kMaxSlots - 1;
  EXPECT_FALSE(
      CallHandle((uint64_t{UINT32_MAX} << 32) | kLastSlot).is_from_outside());
  for (const uint64_t number : {uint64_t{1}, uint64_t{UINT32_MAX},
                                uint64_t{1} << 32, (uint64_t{1} << 63) - 1}) {
    EXPECT_TRUE(CallHandle::FromOutside(number).is_from_outside()) << number;
  }
}

TEST(CallHandle, NumbersHaveHandlesOfTheirOwn) {
  const std::set<uint64_t> handles = {
      CallHandle::FromOutside(1).bits(), CallHandle::FromOutside(2).bits(),
      CallHandle::FromOutside(uint64_t{1} << 32).bits(),
      CallHandle::FromOutside((uint64_t{1} << 32) + 1).bits()};
  EXPECT_EQ(handles.size(), 4u);
}

}  // namespace
}  // namespace actord::runtime
