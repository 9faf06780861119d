// What the timing wheel does about timers that nobody wants any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "tests/runtime/timer_wheel_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kFew = TimerWheel::kFew;
constexpr uint64_t kEndNs = uint64_t{1} << 62;
// What one call looks at.
constexpr size_t kLooks = 128;

// Forgets until the wheel is crowded no more; returns the looks that took.
template <typename Predicate>
size_t ForgetAll(TimerWheel& wheel, Predicate is_wanted) {
  size_t looks = 0;
  for (int calls = 0; wheel.IsCrowded(); ++calls) {
    EXPECT_LT(calls, 100'000) << "it does not come to an end";
    if (calls == 100'000) break;
    wheel.Forget([&](uint64_t value) {
      ++looks;
      return is_wanted(value);
    });
  }
  return looks;
}

TEST(ForgettingTimers, FewAreNoCrowdAndLoseNone) {
  TimerWheel wheel(0);
  for (size_t i = 0; i < kFew; ++i) wheel.Add(i, i * kTickNs);
  EXPECT_FALSE(wheel.IsCrowded());
  wheel.Forget([](uint64_t) -> bool {
    ADD_FAILURE() << "it is not crowded";
    return false;
  });
  wheel.Add(kFew, kTickNs);
  EXPECT_TRUE(wheel.IsCrowded());
  EXPECT_EQ(Due(wheel, kEndNs).size(), kFew + 1);
  EXPECT_FALSE(wheel.IsCrowded());
}

// On all levels.
TEST(ForgettingTimers, JustThoseThatNobodyWantsAreForgotten) {
  constexpr size_t kTimers = 20'000;
  const auto is_wanted = [](uint64_t value) { return value % 3 == 0; };
  TimerWheel wheel(12345);
  Random random(5);
  std::vector<uint64_t> wanted;
  for (size_t i = 0; i < kTimers; ++i) {
    wheel.Add(i, 12345 + RandomDelay(random) * (i % 100));
    if (is_wanted(i)) wanted.push_back(i);
  }
  EXPECT_EQ(ForgetAll(wheel, is_wanted), kTimers) << "each is looked at once";
  std::vector<uint64_t> due = Due(wheel, kEndNs);
  std::sort(due.begin(), due.end());
  EXPECT_EQ(due, wanted);
  EXPECT_EQ(wheel.EarliestNs(), TimerWheel::kNever);
}

// So whoever adds does not wait for long, and yet it comes to an end while
// others go on adding.
TEST(ForgettingTimers, ACallLooksAtSomeAndIsRepeatedForThoseThatWereAdded) {
  // In the first slot that it comes to.
  constexpr uint64_t kDeadlineNs = kEndNs / 64;
  TimerWheel wheel(0);
  for (size_t i = 0; i <= kFew; ++i) wheel.Add(i, kDeadlineNs);
  const auto looks = [&wheel](int calls) {
    size_t count = 0;
    for (int i = 1; i <= calls; ++i) {
      EXPECT_EQ(wheel.Forget([&count](uint64_t) {
        ++count;
        return true;
      }),
                i < calls);
    }
    return count;
  };
  EXPECT_GT(looks(1), 0u);
  EXPECT_EQ(looks(1), kLooks);
  for (size_t i = 0; i < kLooks; ++i) wheel.Add(kFew + 1 + i, kDeadlineNs);
  EXPECT_EQ(looks(4), 4 * kLooks);
  EXPECT_EQ(looks(1), kLooks);
}

// It pays for a look at all of them with as many that were added.
TEST(ForgettingTimers, WithAllOfThemWantedItIsCrowdedAgainAtTwiceAsMany) {
  const auto always = [](uint64_t) { return true; };
  TimerWheel wheel(0);
  size_t count = 0;
  const auto add = [&] {
    wheel.Add(count, kSlotNs * (1 + count % 1000));
    ++count;
  };
  while (count < 5'000) add();
  ASSERT_TRUE(wheel.IsCrowded());
  EXPECT_EQ(ForgetAll(wheel, always), 5'000u);
  while (count < 10'000) add();
  EXPECT_FALSE(wheel.IsCrowded());
  add();
  EXPECT_TRUE(wheel.IsCrowded());
  EXPECT_EQ(ForgetAll(wheel, always), 10'001u);
  EXPECT_EQ(Due(wheel, kEndNs).size(), 10'001u);
}

// As with timeouts that are much longer than what they are for takes.
TEST(ForgettingTimers, ThoseThatNobodyWantsNeverOutnumberTheOthersByMuch) {
  for (const size_t live : {size_t{100}, size_t{20'000}}) {
    SCOPED_TRACE(live);
    TimerWheel wheel(0);
    size_t added = 0;
    for (size_t turn = 0; turn < 200'000; ++turn) {
      wheel.Add(added, kSlotNs * (1'000'000 + turn % 1000));
      ++added;
      if (turn % 16 == 0 && wheel.IsCrowded()) {
        while (wheel.Forget(
            [&](uint64_t value) { return value + live >= added; })) {
        }
      }
    }
    const size_t left = Due(wheel, kEndNs).size();
    EXPECT_GE(left, live);
    EXPECT_LE(left, std::max(kFew + kFew / 2, 3 * live));
  }
}

// Where many have fired, room for as many is not kept.
TEST(ForgettingTimers, AfterMostHaveFiredOthersDoNotBecomeAsManyUnseen) {
  TimerWheel wheel(0);
  const auto always = [](uint64_t) { return true; };
  for (size_t i = 0; i < 100'000; ++i) wheel.Add(i, kTickNs);
  ForgetAll(wheel, always);
  EXPECT_EQ(Due(wheel, 2 * kTickNs).size(), 100'000u);
  for (size_t i = 0; i <= kFew; ++i) wheel.Add(i, kEndNs);
  EXPECT_TRUE(wheel.IsCrowded());
}

// What was moved in pieces and is empty now is a slot like any other.
TEST(ForgettingTimers, ASlotWhoseRestIsForgottenIsMovedNoMore) {
  constexpr size_t kTimers = 2 * kFew;
  TimerWheel wheel(0);
  for (size_t i = 0; i < kTimers; ++i) wheel.Add(i, kSlotNs + 36 * kTickNs);
  std::vector<uint64_t> due;
  wheel.Advance(kSlotNs, kAll, due);
  EXPECT_EQ(wheel.EarliestNs(), kSlotNs) << "more of it is left to move";
  ForgetAll(wheel, [](uint64_t) { return false; });
  // In the same slot, the next time round.
  const uint64_t later = kSlotNs + 36 * kTickNs + kSlotNs * TimerWheel::kSlots;
  wheel.Add(7, later);
  EXPECT_THAT(Due(wheel, kSlotNs), IsEmpty());
  EXPECT_GT(wheel.EarliestNs(), kSlotNs) << "nothing of it is left to move";
  EXPECT_THAT(Due(wheel, later - 1), IsEmpty());
  EXPECT_THAT(Due(wheel, later), ElementsAre(7));
}

// Nobody is woken for each of them.
TEST(ForgettingTimers, WhatWasForgottenIsLookedForOnce) {
  TimerWheel wheel(0);
  for (size_t i = 0; i < 2 * kFew; ++i) wheel.Add(i, (1 + i % 200) * kSlotNs);
  ForgetAll(wheel, [](uint64_t value) { return value == 150; });
  EXPECT_EQ(wheel.FirstDueNs(), 151 * kSlotNs);
  EXPECT_THAT(Due(wheel, kSlotNs), IsEmpty());
  EXPECT_EQ(wheel.EarliestNs(), 151 * kSlotNs);
}

// It was in the middle of it, and had not come to those that are left.
TEST(ForgettingTimers, ASlotMayHaveBecomeSmallerMeanwhile) {
  constexpr size_t kNear = 20'000;
  constexpr size_t kTaken = 3'000;
  TimerWheel wheel(0);
  for (size_t i = 0; i < kNear; ++i) wheel.Add(i, 10 * kTickNs);
  ForgetAll(wheel, [](uint64_t) { return true; });
  size_t far = 0;
  const auto add_far = [&] { wheel.Add(kNear + far++, kEndNs / 64); };
  while (!wheel.IsCrowded()) add_far();
  for (bool near = false; !near;) {
    ASSERT_TRUE(wheel.IsCrowded());
    wheel.Forget([&near](uint64_t value) {
      near = value < kNear;
      return true;
    });
  }
  for (size_t i = 0; i < kTaken; ++i) add_far();
  EXPECT_EQ(Due(wheel, 10 * kTickNs, kTaken).size(), kTaken);
  ASSERT_TRUE(wheel.IsCrowded());
  EXPECT_EQ(ForgetAll(wheel, [](uint64_t) { return false; }), kNear - kTaken);
  EXPECT_EQ(Due(wheel, kEndNs).size(), far);
}

// Between two calls the slot where it was may fire, move down, and fill again.
TEST(ForgettingTimers, NothingThatIsWantedIsLostWhileSlotsMove) {
  constexpr size_t kTimers = 200'000;
  constexpr size_t kSome = 5'000;
  Random random(42);
  uint64_t now = 987'654'321;
  TimerWheel wheel(now);
  std::vector<uint64_t> deadline_of(kTimers, 0);  // 0: nobody wants it
  std::multiset<uint64_t> deadlines;
  const auto is_wanted = [&](uint64_t i) { return deadline_of[i] != 0; };
  const auto unwant = [&](size_t i) {
    deadlines.erase(deadlines.find(deadline_of[i]));
    deadline_of[i] = 0;
  };
  size_t added = 0;
  size_t fired_unwanted = 0;
  size_t given_up = 0;
  while (added < kTimers || !deadlines.empty()) {
    for (int i = 0; i < 20 && added < kTimers; ++i, ++added) {
      deadline_of[added] = now + (RandomDelay(random) << 8);
      deadlines.insert(deadline_of[added]);
      wheel.Add(added, deadline_of[added]);
    }
    for (int i = 0; i < 20; ++i) {
      const size_t victim = added - 1 - random.Next() % std::min(added, kSome);
      if (!is_wanted(victim)) continue;
      unwant(victim);
      ++given_up;
    }
    if (wheel.IsCrowded() && random.Next() % 2 == 0) wheel.Forget(is_wanted);
    if (deadlines.empty()) continue;
    ASSERT_LE(wheel.EarliestNs(), *deadlines.begin() + kTickNs - 1);
    now = added < kTimers ? now + RandomDelay(random) % 100'000'000
                          : std::max(now, *deadlines.begin()) + kTickNs;
    for (const uint64_t i :
         Due(wheel, now, random.Next() % 8 == 0 ? 5 : kAll)) {
      if (!is_wanted(i)) {
        ++fired_unwanted;
        continue;
      }
      ASSERT_LE(deadline_of[i], now) << "early";
      unwant(i);
    }
    if (!deadlines.empty() && wheel.EarliestNs() > now) {
      ASSERT_GT(*deadlines.begin() + kTickNs, now) << "more than a tick late";
    }
  }
  EXPECT_GT(given_up, kTimers / 10);
  EXPECT_LT(fired_unwanted, given_up / 2) << "most should have been forgotten";
}

TEST(ForgettingTimers, AddingRacesWithFiringAndForgetting) {
  constexpr size_t kTimers = 200'000;
  TimerWheel wheel(0);
  // Wanted by the one that adds, until it gives it up or it has fired.
  std::vector<std::atomic<bool>> wanted(kTimers);
  std::vector<std::atomic<int>> fired(kTimers);
  std::atomic<uint64_t> now{0};
  std::atomic<bool> stop{false};
  std::thread firing([&] {
    while (!stop.load()) {
      for (const uint64_t i : Due(wheel, now.fetch_add(kTickNs), 5)) ++fired[i];
      if (wheel.IsCrowded()) {
        wheel.Forget([&](uint64_t i) { return wanted[i].load(); });
      }
    }
  });
  Random random(3);
  std::vector<size_t> kept;
  for (size_t i = 0; i < kTimers; ++i) {
    wanted[i] = true;
    wheel.Add(i, now.load() + random.Next() % (2000 * kTickNs));
    if (random.Next() % 8 != 0) {
      wanted[i] = false;
    } else {
      kept.push_back(i);
    }
  }
  stop.store(true);
  firing.join();
  for (const uint64_t i : Due(wheel, kEndNs)) ++fired[i];
  for (const size_t i : kept) ASSERT_EQ(fired[i].load(), 1) << i;
  for (size_t i = 0; i < kTimers; ++i) ASSERT_LE(fired[i].load(), 1) << i;
}

}  // namespace
}  // namespace actord::runtime
