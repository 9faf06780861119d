#include "runtime/timer_wheel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "runtime/random.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kTickNs = uint64_t{1} << TimerWheel::kTickShift;
// What a slot of the second level spans.
constexpr uint64_t kSlotNs = kTickNs * TimerWheel::kSlots;
constexpr size_t kAll = SIZE_MAX;
constexpr auto kAlways = [] { return true; };

std::vector<uint64_t> Due(TimerWheel& wheel, uint64_t now_ns,
                          size_t max = kAll) {
  std::vector<uint64_t> due;
  do {
    wheel.Advance(now_ns, max, due);
  } while (max == kAll && wheel.EarliestNs() <= now_ns);
  return due;
}

TEST(TimerWheel, AnEmptyWheelHasNoEarliestTime) {
  TimerWheel wheel(0);
  EXPECT_EQ(wheel.EarliestNs(), TimerWheel::kNever);
  EXPECT_THAT(Due(wheel, uint64_t{1} << 60), IsEmpty());
}

// One timer for each level of the wheel, just below, at and above its borders.
TEST(TimerWheel, NeverEarlyAndAtMostOneTickLateOnEveryLevel) {
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
      TimerWheel::Timer timer;
      timer.value = 7;
      const uint64_t deadline = start + delay;
      ASSERT_TRUE(wheel.Add(timer, deadline, kAlways));
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
  std::vector<TimerWheel::Timer> timers(48);
  for (size_t i = 0; i < timers.size(); ++i) {
    timers[i].value = i;
    ASSERT_TRUE(wheel.Add(timers[i], 12345 + (uint64_t{1} << i), kAlways));
  }
  std::vector<uint64_t> due = Due(wheel, uint64_t{1} << 62);
  std::sort(due.begin(), due.end());
  ASSERT_EQ(due.size(), timers.size());
  for (size_t i = 0; i < due.size(); ++i) EXPECT_EQ(due[i], i);
}

TEST(TimerWheel, KnowsTheFirstOfASlotToTheTick) {
  TimerWheel wheel(0);
  EXPECT_EQ(wheel.FirstDueNs(), TimerWheel::kNever);
  // All of one slot of the second level, whose start is what the wheel says.
  TimerWheel::Timer late, first, last;
  ASSERT_TRUE(wheel.Add(late, kSlotNs + 50 * kTickNs, kAlways));
  ASSERT_TRUE(wheel.Add(first, kSlotNs + 40 * kTickNs - 1, kAlways));
  ASSERT_TRUE(wheel.Add(last, kSlotNs + 60 * kTickNs, kAlways));
  EXPECT_EQ(wheel.EarliestNs(), kSlotNs);
  EXPECT_EQ(wheel.FirstDueNs(), kSlotNs + 40 * kTickNs);
  wheel.Cancel(first);
  EXPECT_EQ(wheel.FirstDueNs(), kSlotNs + 50 * kTickNs);
  wheel.Cancel(late);
  wheel.Cancel(last);
  EXPECT_EQ(wheel.FirstDueNs(), TimerWheel::kNever);
}

TEST(TimerWheel, ACancelledTimerDoesNotFire) {
  TimerWheel wheel(0);
  TimerWheel::Timer a, b, c;
  a.value = 1;
  b.value = 2;
  c.value = 3;
  // All in one slot: the first, the middle and the last of its list.
  for (TimerWheel::Timer* timer : {&a, &b, &c}) {
    ASSERT_TRUE(wheel.Add(*timer, 10 * kTickNs, kAlways));
  }
  wheel.Cancel(b);
  wheel.Cancel(b);  // twice is as good as once
  EXPECT_THAT(Due(wheel, 11 * kTickNs), ElementsAre(3, 1));
  wheel.Cancel(a);  // has fired
  EXPECT_THAT(Due(wheel, 20 * kTickNs), IsEmpty());
}

// So whoever gives its memory back need not ask the wheel.
TEST(TimerWheel, ATimerSaysWhetherItMayBeInAWheel) {
  TimerWheel wheel(0);
  TimerWheel::Timer timer;
  EXPECT_FALSE(timer.MayBeInWheel());
  bool while_asked = false;
  const auto asked = [&] {
    while_asked = timer.MayBeInWheel();
    return true;
  };
  ASSERT_TRUE(wheel.Add(timer, 10 * kTickNs, asked));
  EXPECT_TRUE(while_asked);
  EXPECT_TRUE(timer.MayBeInWheel());
  EXPECT_EQ(Due(wheel, 10 * kTickNs).size(), 1u);
  EXPECT_FALSE(timer.MayBeInWheel());
  // Moved down a level, and moved to another time, it is in.
  ASSERT_TRUE(wheel.Add(timer, 5000 * kTickNs, kAlways));
  EXPECT_THAT(Due(wheel, 4999 * kTickNs), IsEmpty());
  EXPECT_TRUE(timer.MayBeInWheel());
  ASSERT_TRUE(wheel.Add(timer, 6000 * kTickNs, kAlways));
  EXPECT_TRUE(timer.MayBeInWheel());
  wheel.Cancel(timer);
  EXPECT_FALSE(timer.MayBeInWheel());
}

TEST(TimerWheel, CancellingTheOnlyOneOnALevelLeavesTheOthers) {
  TimerWheel wheel(0);
  TimerWheel::Timer near, far;
  near.value = 1;
  far.value = 2;
  ASSERT_TRUE(wheel.Add(near, 5 * kTickNs, kAlways));
  ASSERT_TRUE(wheel.Add(far, 5000 * kTickNs, kAlways));
  wheel.Cancel(near);
  EXPECT_THAT(Due(wheel, 4999 * kTickNs), IsEmpty());
  EXPECT_THAT(Due(wheel, 5000 * kTickNs), ElementsAre(2));
}

TEST(TimerWheel, AddingAgainMovesTheTimer) {
  TimerWheel wheel(0);
  TimerWheel::Timer timer;
  timer.value = 1;
  ASSERT_TRUE(wheel.Add(timer, 1000 * kTickNs, kAlways));
  ASSERT_TRUE(wheel.Add(timer, 10 * kTickNs, kAlways));
  EXPECT_THAT(Due(wheel, 10 * kTickNs), ElementsAre(1));
  EXPECT_THAT(Due(wheel, 2000 * kTickNs), IsEmpty());
  // And it can be used again after it fired; a time in the past is now.
  ASSERT_TRUE(wheel.Add(timer, 3 * kTickNs, kAlways));
  EXPECT_THAT(Due(wheel, 2000 * kTickNs), ElementsAre(1));
}

TEST(TimerWheel, WhatIsNotWantedAnyMoreIsNotArmed) {
  TimerWheel wheel(0);
  TimerWheel::Timer timer;
  EXPECT_FALSE(wheel.Add(timer, 5 * kTickNs, [] { return false; }));
  EXPECT_EQ(wheel.EarliestNs(), TimerWheel::kNever);
  timer.value = 4;
  ASSERT_TRUE(wheel.Add(timer, 5 * kTickNs, kAlways));
  // Refusing a change leaves it as it was.
  EXPECT_FALSE(wheel.Add(timer, 9 * kTickNs, [] { return false; }));
  EXPECT_THAT(Due(wheel, 5 * kTickNs), ElementsAre(4));
}

TEST(TimerWheel, HandsOutNoMoreThanAskedForAndForgetsNone) {
  TimerWheel wheel(0);
  constexpr size_t kTimers = 1000;
  std::vector<TimerWheel::Timer> timers(kTimers);
  for (size_t i = 0; i < kTimers; ++i) {
    timers[i].value = i;
    ASSERT_TRUE(wheel.Add(timers[i], (i % 7) * 90 * kTickNs, kAlways));
  }
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

// Some at a time. Between, timers come, go, and are due as ever.
TEST(TimerWheel, ASlotThatIsMovedDownIsMovedInPieces) {
  constexpr size_t kTimers = 10'000;
  // One slot of the third level.
  constexpr uint64_t kFirstTick = 2 * TimerWheel::kSlots * TimerWheel::kSlots;
  TimerWheel wheel(0);
  std::vector<TimerWheel::Timer> timers(kTimers);
  for (size_t i = 0; i < kTimers; ++i) {
    timers[i].value = i;
    ASSERT_TRUE(
        wheel.Add(timers[i], (kFirstTick + i % 4096) * kTickNs, kAlways));
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
  // One that is due before them all, one of those that wait, and one of those
  // that were moved.
  TimerWheel::Timer before;
  before.value = kTimers;
  ASSERT_TRUE(wheel.Add(before, 0, kAlways));
  wheel.Cancel(timers[4096]);
  wheel.Cancel(timers[8192]);
  int calls = 1;
  std::vector<uint64_t> due;
  for (; wheel.EarliestNs() <= now; ++calls) {
    ASSERT_LT(calls, 20);
    for (const uint64_t value : advance()) due.push_back(value);
  }
  EXPECT_GE(calls, static_cast<int>(kTimers / 1024));
  std::sort(due.begin(), due.end());
  EXPECT_THAT(due, ElementsAre(0, kTimers));
  EXPECT_EQ(wheel.FirstDueNs(), now + kTickNs);
}

// What was moved in pieces and is empty now is a slot like any other.
TEST(TimerWheel, ASlotWhoseRestIsCancelledIsMovedNoMore) {
  constexpr size_t kTimers = 2'000;
  TimerWheel wheel(0);
  std::vector<TimerWheel::Timer> timers(kTimers);
  for (TimerWheel::Timer& timer : timers) {
    ASSERT_TRUE(wheel.Add(timer, kSlotNs + 36 * kTickNs, kAlways));
  }
  std::vector<uint64_t> due;
  wheel.Advance(kSlotNs, kAll, due);
  for (TimerWheel::Timer& timer : timers) wheel.Cancel(timer);
  // In the same slot, the next time round.
  timers[0].value = 7;
  const uint64_t later = kSlotNs + 36 * kTickNs + kSlotNs * TimerWheel::kSlots;
  ASSERT_TRUE(wheel.Add(timers[0], later, kAlways));
  EXPECT_GT(wheel.EarliestNs(), kSlotNs) << "nothing of it is left to move";
  EXPECT_THAT(Due(wheel, later - 1), IsEmpty());
  EXPECT_THAT(Due(wheel, later), ElementsAre(7));
}

TEST(TimerWheel, TheEndOfTheClockIsNeverReached) {
  TimerWheel wheel(0);
  TimerWheel::Timer timer;
  ASSERT_TRUE(wheel.Add(timer, UINT64_MAX, kAlways));
  EXPECT_THAT(Due(wheel, uint64_t{400} * 365 * 24 * 3600 * 1'000'000'000),
              IsEmpty());
}

TEST(TimerWheel, AClockThatRunsBackwardsDoesNoHarm) {
  TimerWheel wheel(1000 * kTickNs);
  TimerWheel::Timer timer;
  timer.value = 1;
  ASSERT_TRUE(wheel.Add(timer, 1100 * kTickNs, kAlways));
  EXPECT_THAT(Due(wheel, 500 * kTickNs), IsEmpty());
  EXPECT_THAT(Due(wheel, 1100 * kTickNs), ElementsAre(1));
}

// Random timers against a sorted map that says when each may fire.
TEST(TimerWheel, AgreesWithASortedMapOverManyRandomTimers) {
  constexpr size_t kTimers = 100'000;
  Random random(42);
  uint64_t now = 987'654'321;
  TimerWheel wheel(now);
  std::vector<TimerWheel::Timer> timers(kTimers);
  std::vector<uint64_t> deadline_of(kTimers, 0);  // 0: not armed
  std::multiset<uint64_t> deadlines;
  const auto random_delay = [&random] {
    // Every order of magnitude up to an hour is as likely.
    const uint64_t bits = random.Next() % 42;
    return random.Next() & ((uint64_t{1} << bits) - 1);
  };
  const auto disarm = [&](size_t i) {
    deadlines.erase(deadlines.find(deadline_of[i]));
    deadline_of[i] = 0;
  };
  size_t fired = 0;
  size_t added = 0;
  while (added < kTimers || !deadlines.empty()) {
    for (int i = 0; i < 20 && added < kTimers; ++i, ++added) {
      timers[added].value = added;
      deadline_of[added] = now + random_delay();
      deadlines.insert(deadline_of[added]);
      ASSERT_TRUE(wheel.Add(timers[added], deadline_of[added], kAlways));
    }
    for (int i = 0; i < 4; ++i) {
      const size_t victim = random.Next() % added;
      if (deadline_of[victim] == 0) continue;
      disarm(victim);
      if (random.Next() % 2 == 0) {
        wheel.Cancel(timers[victim]);
      } else {
        deadline_of[victim] = now + random_delay();
        deadlines.insert(deadline_of[victim]);
        ASSERT_TRUE(wheel.Add(timers[victim], deadline_of[victim], kAlways));
      }
    }
    if (!deadlines.empty()) {
      ASSERT_LE(wheel.EarliestNs(), *deadlines.begin() + kTickNs - 1);
    }
    now = added < kTimers ? now + random_delay() % 100'000'000
                          : std::max(now, *deadlines.begin()) + kTickNs;
    for (const uint64_t i : Due(wheel, now)) {
      ASSERT_NE(deadline_of[i], 0u) << "fired a timer that is not armed";
      ASSERT_LE(deadline_of[i], now) << "early";
      disarm(i);
      ++fired;
    }
    if (!deadlines.empty()) {
      ASSERT_GT(*deadlines.begin() + kTickNs, now) << "more than a tick late";
    }
  }
  EXPECT_GT(fired, kTimers / 2);
  EXPECT_EQ(wheel.EarliestNs(), TimerWheel::kNever);
}

TEST(TimerWheel, ArmingAndCancellingRacesWithFiring) {
  constexpr size_t kTimers = 64;
  TimerWheel wheel(0);
  std::vector<TimerWheel::Timer> timers(kTimers);
  for (size_t i = 0; i < kTimers; ++i) timers[i].value = i;
  std::atomic<uint64_t> now{0};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> fired{0};
  std::thread firing([&] {
    while (!stop.load()) {
      fired += Due(wheel, now.fetch_add(kTickNs), 5).size();
    }
  });
  uint64_t added = 0;
  Random random(3);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (added < 20'000 || fired.load() < 2'000) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    TimerWheel::Timer& timer = timers[random.Next() % kTimers];
    if (random.Next() % 3 == 0) {
      wheel.Cancel(timer);
    } else {
      added += wheel.Add(timer, now.load() + random.Next() % (100 * kTickNs),
                         kAlways);
    }
  }
  for (TimerWheel::Timer& timer : timers) wheel.Cancel(timer);
  stop.store(true);
  firing.join();
  EXPECT_THAT(Due(wheel, uint64_t{1} << 62), IsEmpty());
  EXPECT_LE(fired.load(), added);
}

}  // namespace
}  // namespace actord::runtime
