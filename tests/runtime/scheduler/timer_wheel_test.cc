// The timing wheel: added timers become due at their time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/runtime/scheduler/timer_wheel_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TimerWheel, AnEmptyWheelHasNoEarliestTime) {
  TimerWheel wheel(0);
  EXPECT_EQ(wheel.EarliestNs(), TimerWheel::kNever);
  EXPECT_THAT(Due(wheel, uint64_t{1} << 60), IsEmpty());
}

// One timer for each level of the wheel, just below, at and above its borders.
TEST(TimerWheel, FiresNeverEarlyAndAtMostOneTickLateOnEveryLevel) {
  std::vector<uint64_t> delays = {0, 1, kTickNs - 1, kTickNs, kTickNs + 1};
  for (int level = 1; level < TimerWheel::kLevels; ++level) {
    const uint64_t border = kTickNs << (TimerWheel::kLevelBits * level);
    for (const uint64_t delay :
         {border - kTickNs, border - 1, border, border + 1, border * 3 / 2}) {
      delays.push_back(delay);
    }
  }
  for (const uint64_t start : {uint64_t{0}, uint64_t{1'000'000'007},
                               (kTickNs << 2 * TimerWheel::kLevelBits) - 1,
                               (kTickNs << 3 * TimerWheel::kLevelBits) + 17}) {
    for (const uint64_t delay : delays) {
      SCOPED_TRACE(::testing::Message() << start << " + " << delay);
      TimerWheel wheel(start);
      const uint64_t deadline = start + delay;
      wheel.Add(7, deadline);
      // Goes where the wheel says it has to look next; each time that is in
      // the future or brings the timer down a level.
      uint64_t now = start;
      int looks = 0;
      std::vector<uint64_t> due;
      while (due.empty()) {
        ASSERT_LE(wheel.EarliestNs(), deadline + kTickNs - 1);
        if (deadline > start && deadline - 1 >= now) {
          // A moment before, nothing.
          const uint64_t before = std::min(wheel.EarliestNs(), deadline) - 1;
          if (before >= now && before < deadline) {
            ASSERT_THAT(Due(wheel, before), IsEmpty());
          }
        }
        now = std::max(now, wheel.EarliestNs());
        due = Due(wheel, now);
        ASSERT_LE(++looks, 10);
      }
      EXPECT_THAT(due, ElementsAre(7));
      EXPECT_GE(now, deadline);
      EXPECT_LT(now, deadline + kTickNs);
      EXPECT_EQ(wheel.EarliestNs(), TimerWheel::kNever);
    }
  }
}

TEST(TimerWheel, OneJumpOverEverythingFiresEverything) {
  TimerWheel wheel(12345);
  constexpr size_t kTimers = 48;
  for (size_t i = 0; i < kTimers; ++i) {
    wheel.Add(i, 12345 + (uint64_t{1} << i));
  }
  std::vector<uint64_t> due = Due(wheel, uint64_t{1} << 62);
  std::sort(due.begin(), due.end());
  ASSERT_EQ(due.size(), kTimers);
  for (size_t i = 0; i < due.size(); ++i) EXPECT_EQ(due[i], i);
}

TEST(TimerWheel, KnowsTheFirstOfASlotToTheTick) {
  TimerWheel wheel(0);
  EXPECT_EQ(wheel.FirstDueNs(), TimerWheel::kNever);
  // All of one slot of the second level, whose start is what the wheel says.
  wheel.Add(2, kSlotNs + 50 * kTickNs);
  wheel.Add(1, kSlotNs + 40 * kTickNs - 1);
  wheel.Add(3, kSlotNs + 60 * kTickNs);
  EXPECT_EQ(wheel.EarliestNs(), kSlotNs);
  EXPECT_EQ(wheel.FirstDueNs(), kSlotNs + 40 * kTickNs);
  EXPECT_THAT(Due(wheel, kSlotNs + 45 * kTickNs), ElementsAre(1));
  EXPECT_EQ(wheel.FirstDueNs(), kSlotNs + 50 * kTickNs);
  EXPECT_THAT(Due(wheel, kSlotNs + 60 * kTickNs), ElementsAre(2, 3));
  EXPECT_EQ(wheel.FirstDueNs(), TimerWheel::kNever);
}

// A thread that sleeps until the earliest time need not learn of a later one.
TEST(TimerWheel, OnlyAnEarlierTimerMakesTheEarliestTimeEarlier) {
  TimerWheel wheel(0);
  wheel.Add(1, 10 * kTickNs);
  EXPECT_EQ(wheel.EarliestNs(), 10 * kTickNs);
  wheel.Add(2, 20 * kTickNs);
  EXPECT_EQ(wheel.EarliestNs(), 10 * kTickNs);
  wheel.Add(3, 5 * kTickNs);
  EXPECT_EQ(wheel.EarliestNs(), 5 * kTickNs);
  EXPECT_THAT(Due(wheel, 15 * kTickNs), ElementsAre(3, 1));
  EXPECT_EQ(wheel.EarliestNs(), 20 * kTickNs);
  // A timer that was due long ago is due now.
  wheel.Add(4, 3 * kTickNs);
  EXPECT_LE(wheel.EarliestNs(), 15 * kTickNs);
  EXPECT_THAT(Due(wheel, 15 * kTickNs), ElementsAre(4));
}

TEST(TimerWheel, HandsOutNoMoreThanAskedForAndForgetsNone) {
  TimerWheel wheel(0);
  constexpr size_t kTimers = 1000;
  for (size_t i = 0; i < kTimers; ++i) wheel.Add(i, (i % 7) * 90 * kTickNs);
  std::set<uint64_t> seen;
  const uint64_t now = 10'000 * kTickNs;
  for (int call = 0; seen.size() < kTimers; ++call) {
    ASSERT_LT(call, 200);
    const std::vector<uint64_t> due = Due(wheel, now, 10);
    ASSERT_LE(due.size(), 10u);
    seen.insert(due.begin(), due.end());
    if (seen.size() < kTimers) {
      ASSERT_LE(wheel.EarliestNs(), now) << "something is still due";
    }
  }
  EXPECT_EQ(wheel.EarliestNs(), TimerWheel::kNever);
}

// Some at a time. Between, timers come, and are due as ever.
TEST(TimerWheel, ASlotThatIsMovedDownIsMovedInPieces) {
  constexpr size_t kTimers = 10'000;
  // One slot of the third level.
  constexpr uint64_t kFirstTick = 2 * TimerWheel::kSlots * TimerWheel::kSlots;
  TimerWheel wheel(0);
  for (size_t i = 0; i < kTimers; ++i) {
    wheel.Add(i, (kFirstTick + i % 4096) * kTickNs);
  }
  const uint64_t now = kFirstTick * kTickNs;
  const auto advance = [&] {
    std::vector<uint64_t> due;
    wheel.Advance(now, kAll, due);
    return due;
  };
  EXPECT_THAT(advance(), IsEmpty());
  EXPECT_EQ(wheel.EarliestNs(), now) << "more of it is left to move";
  EXPECT_EQ(wheel.FirstDueNs(), now);
  // A timer that is due before all others.
  wheel.Add(kTimers, 0);
  int calls = 1;
  std::vector<uint64_t> due;
  for (; wheel.EarliestNs() <= now; ++calls) {
    ASSERT_LT(calls, 20);
    for (const uint64_t value : advance()) due.push_back(value);
  }
  EXPECT_GE(calls, static_cast<int>(kTimers / 1024));
  std::sort(due.begin(), due.end());
  EXPECT_THAT(due, ElementsAre(0, 4096, 8192, kTimers));
  EXPECT_EQ(wheel.FirstDueNs(), now + kTickNs);
}

TEST(TimerWheel, TheEndOfTheClockIsNeverReached) {
  TimerWheel wheel(0);
  wheel.Add(7, UINT64_MAX);
  EXPECT_THAT(Due(wheel, uint64_t{400} * 365 * 24 * 3600 * 1'000'000'000),
              IsEmpty());
}

TEST(TimerWheel, AClockThatRunsBackwardsDoesNoHarm) {
  TimerWheel wheel(1000 * kTickNs);
  wheel.Add(1, 1100 * kTickNs);
  EXPECT_THAT(Due(wheel, 500 * kTickNs), IsEmpty());
  EXPECT_THAT(Due(wheel, 1100 * kTickNs), ElementsAre(1));
}

// Random timers against a sorted map that says when each may fire.
TEST(TimerWheel, AgreesWithASortedMapOverManyRandomTimers) {
  constexpr size_t kTimers = 100'000;
  Random random(42);
  uint64_t now = 987'654'321;
  TimerWheel wheel(now);
  std::vector<uint64_t> deadline_of(kTimers, 0);  // 0: it has fired
  std::multiset<uint64_t> deadlines;
  size_t added = 0;
  while (added < kTimers || !deadlines.empty()) {
    for (int i = 0; i < 20 && added < kTimers; ++i, ++added) {
      deadline_of[added] = now + RandomDelay(random);
      deadlines.insert(deadline_of[added]);
      wheel.Add(added, deadline_of[added]);
    }
    ASSERT_LE(wheel.EarliestNs(), *deadlines.begin() + kTickNs - 1);
    now = added < kTimers ? now + RandomDelay(random) % 100'000'000
                          : std::max(now, *deadlines.begin()) + kTickNs;
    for (const uint64_t i : Due(wheel, now)) {
      ASSERT_NE(deadline_of[i], 0u) << "fired twice";
      ASSERT_LE(deadline_of[i], now) << "early";
      deadlines.erase(deadlines.find(deadline_of[i]));
      deadline_of[i] = 0;
    }
    if (!deadlines.empty()) {
      ASSERT_GT(*deadlines.begin() + kTickNs, now) << "more than a tick late";
    }
  }
  EXPECT_EQ(wheel.EarliestNs(), TimerWheel::kNever);
}

}  // namespace
}  // namespace actord::runtime
