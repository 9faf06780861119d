// The timing wheel forgets timers that nobody wants any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "runtime/scheduler/scheduler_policy.h"
#include "tests/runtime/scheduler/timer_wheel_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Le;

constexpr size_t kFew = SchedulerPolicy::kFewTimers;
constexpr uint64_t kEndNs = uint64_t{1} << 62;
// In the first slot that a walk comes to.
constexpr uint64_t kFarNs = kEndNs / 64;
constexpr size_t kLooksForEachAdded = SchedulerPolicy::kTimersCheckedPerAdd;

class ForgettingTimers : public ::testing::Test {
 protected:
  ForgettingTimers() {
    wheel_.SetIsWanted([this](uint64_t value) {
      ++looks_;
      return is_wanted_(value);
    });
  }
  // Adds timers that are wanted, with values from kFresh on, until a walk has
  // begun and ended since.
  static constexpr uint64_t kFresh = uint64_t{1} << 40;
  void AddUntilWalked() {
    const auto was_wanted = is_wanted_;
    is_wanted_ = [was_wanted](uint64_t value) {
      return value >= kFresh || was_wanted(value);
    };
    const auto looked = [this] {
      const size_t before = looks_;
      wheel_.Add(kFresh + fresh_++, kFarNs);
      return looks_ != before;
    };
    while (!looked()) ASSERT_LT(fresh_, 1'000'000u);
    while (looked()) ASSERT_LT(fresh_, 1'000'000u);
  }

  std::function<bool(uint64_t)> is_wanted_ = [](uint64_t) { return true; };
  size_t looks_ = 0;
  size_t fresh_ = 0;
  TimerWheel wheel_{0};
};

TEST_F(ForgettingTimers, FewAreNoCrowd) {
  is_wanted_ = [](uint64_t) { return false; };
  for (size_t i = 0; i < kFew; ++i) wheel_.Add(i, i * kTickNs);
  EXPECT_EQ(looks_, 0u);
  wheel_.Add(kFew, kTickNs);
  EXPECT_EQ(looks_, kLooksForEachAdded);
  EXPECT_EQ(Due(wheel_, kEndNs).size(), kFew + 1 - kLooksForEachAdded);
}

// The timers are on all levels of the wheel.
TEST_F(ForgettingTimers, OnlyUnwantedTimersAreForgotten) {
  constexpr size_t kTimers = 20'000;
  Random random(5);
  for (size_t i = 0; i < kTimers; ++i) {
    wheel_.Add(i, RandomDelay(random) * (i % 100));
  }
  is_wanted_ = [](uint64_t value) { return value % 3 == 0; };
  AddUntilWalked();
  std::vector<uint64_t> wanted;
  for (size_t i = 0; i < kTimers; i += 3) wanted.push_back(i);
  for (size_t i = 0; i < fresh_; ++i) wanted.push_back(kFresh + i);
  std::vector<uint64_t> due = Due(wheel_, kEndNs);
  std::sort(due.begin(), due.end());
  EXPECT_EQ(due, wanted);
  EXPECT_EQ(wheel_.EarliestNs(), TimerWheel::kNever);
}

// So no caller of Add waits for long, and all callers together pay little.
TEST_F(ForgettingTimers, EachAddChecksFewTimers) {
  for (const bool wanted : {true, false}) {
    SCOPED_TRACE(wanted);
    TimerWheel wheel(0);
    size_t looks = 0;
    wheel.SetIsWanted([&](uint64_t) {
      ++looks;
      return wanted;
    });
    constexpr size_t kTimers = 100'000;
    for (size_t i = 0; i < kTimers; ++i) {
      const size_t before = looks;
      wheel.Add(i, kSlotNs * (1 + i % 1000));
      ASSERT_LE(looks - before, kLooksForEachAdded);
    }
    EXPECT_LT(looks, 2 * kTimers);
    EXPECT_GT(looks, kTimers / 4);
  }
}

// The unwanted timers are like timeouts that are much longer than their work.
// Other timers are due all the time, and fire while a walk lasts.
TEST_F(ForgettingTimers, UnwantedTimersNeverOutnumberWantedTimersByMuch) {
  for (const size_t live : {size_t{100}, size_t{20'000}}) {
    SCOPED_TRACE(live);
    TimerWheel wheel(0);
    constexpr uint64_t kShort = uint64_t{1} << 40;
    constexpr size_t kTurns = 300'000;
    uint64_t turn = 0;
    size_t looks = 0;
    wheel.SetIsWanted([&](uint64_t value) {
      ++looks;
      return value == kShort || value + live > turn;
    });
    for (; turn < kTurns; ++turn) {
      wheel.Add(turn, kSlotNs * (1'000'000 + turn % 1000));
      if (turn % 4 == 0) {
        wheel.Add(kShort, turn * kTickNs);
        ASSERT_THAT(Due(wheel, turn * kTickNs), ElementsAre(kShort));
      }
      ASSERT_LE(wheel.Size(), std::max(kFew, 2 * live) * 5 / 4);
    }
    EXPECT_LT(looks, 2 * kTurns);
  }
}

TEST_F(ForgettingTimers, AfterMostWereForgottenOthersDoNotBecomeAsMany) {
  size_t wanted_from = 0;
  is_wanted_ = [&](uint64_t value) { return value >= wanted_from; };
  size_t i = 0;
  for (; i < 100'000; ++i) wheel_.Add(i, kFarNs);
  // From here on 100 are wanted at a time.
  for (; i < 500'000; ++i) {
    wanted_from = i - 100;
    wheel_.Add(i, kFarNs);
    wheel_.Add(i, 0);
    (void)Due(wheel_, kTickNs);
    ASSERT_LE(wheel_.Size(), 300'000u);
  }
  EXPECT_THAT(wheel_.Size(), Le(kFew * 5 / 4));
}

TEST_F(ForgettingTimers, AfterMostHaveFiredOthersDoNotBecomeAsMany) {
  for (size_t i = 0; i < 100'000; ++i) wheel_.Add(i, kTickNs);
  EXPECT_EQ(Due(wheel_, 2 * kTickNs).size(), 100'000u);
  is_wanted_ = [](uint64_t) { return false; };
  for (size_t i = 0; i < 100'000; ++i) wheel_.Add(i, kFarNs);
  EXPECT_THAT(wheel_.Size(), Le(kFew * 5 / 4));
}

// A slot that was moved in pieces and is empty now is a slot like any other.
TEST_F(ForgettingTimers, ASlotWhoseRestIsForgottenIsMovedNoMore) {
  constexpr size_t kTimers = 2 * kFew;
  for (size_t i = 0; i < kTimers; ++i) wheel_.Add(i, kSlotNs + 36 * kTickNs);
  std::vector<uint64_t> due;
  wheel_.Advance(kSlotNs, kAll, due);
  EXPECT_EQ(wheel_.EarliestNs(), kSlotNs) << "more of it is left to move";
  is_wanted_ = [](uint64_t) { return false; };
  AddUntilWalked();
  // In the same slot, the next time round.
  const uint64_t later = kSlotNs + 36 * kTickNs + kSlotNs * TimerWheel::kSlots;
  wheel_.Add(7, later);
  EXPECT_THAT(Due(wheel_, kSlotNs), IsEmpty());
  EXPECT_GT(wheel_.EarliestNs(), kSlotNs) << "nothing of it is left to move";
  EXPECT_THAT(Due(wheel_, later - 1), IsEmpty());
  EXPECT_THAT(Due(wheel_, later), ElementsAre(7));
}

// No worker is woken for each forgotten timer.
TEST_F(ForgettingTimers, ForgottenTimersCauseAtMostOneCheck) {
  for (size_t i = 0; i < 2 * kFew; ++i) wheel_.Add(i, (1 + i % 200) * kSlotNs);
  is_wanted_ = [](uint64_t value) { return value == 150; };
  AddUntilWalked();
  EXPECT_EQ(wheel_.FirstDueNs(), 151 * kSlotNs);
  EXPECT_THAT(Due(wheel_, kSlotNs), IsEmpty());
  EXPECT_EQ(wheel_.EarliestNs(), 151 * kSlotNs);
}

// The walk was in the middle of the slot, and had not reached the remaining
// timers.
TEST_F(ForgettingTimers, ASlotMayHaveBecomeSmallerMeanwhile) {
  constexpr size_t kNear = 20'000;
  constexpr size_t kTaken = 3'000;
  for (size_t i = 0; i < kNear; ++i) wheel_.Add(i, 10 * kTickNs);
  AddUntilWalked();
  size_t looks_at_near = 0;
  bool is_near_wanted = true;
  is_wanted_ = [&](uint64_t value) {
    looks_at_near += value < kNear ? 1 : 0;
    return is_near_wanted || value >= kNear;
  };
  while (looks_at_near == 0) {
    ASSERT_LT(fresh_, 1'000'000u);
    wheel_.Add(kFresh + fresh_++, kFarNs);
  }
  EXPECT_EQ(Due(wheel_, 10 * kTickNs, kTaken).size(), kTaken);
  is_near_wanted = false;
  looks_at_near = 0;
  for (size_t i = 0; i < kNear; ++i) wheel_.Add(kFresh + fresh_++, kFarNs);
  EXPECT_EQ(looks_at_near, kNear - kTaken);
  EXPECT_EQ(Due(wheel_, kEndNs).size(), fresh_);
}

// During a walk the slot where it is may fire, move down, and fill again.
TEST_F(ForgettingTimers, NothingThatIsWantedIsLostWhileSlotsMove) {
  constexpr size_t kTimers = 200'000;
  constexpr size_t kSome = 5'000;
  Random random(42);
  uint64_t now = 0;
  std::vector<uint64_t> deadline_of(kTimers, 0);  // 0: nobody wants it
  std::vector<bool> fired(kTimers, false);
  std::multiset<uint64_t> deadlines;
  is_wanted_ = [&](uint64_t i) { return deadline_of[i] != 0; };
  const auto unwant = [&](size_t i) {
    deadlines.erase(deadlines.find(deadline_of[i]));
    deadline_of[i] = 0;
  };
  size_t added = 0;
  size_t fired_unwanted = 0;
  size_t given_up = 0;
  while (added < kTimers || !deadlines.empty()) {
    for (int i = 0; i < 20 && added < kTimers; ++i, ++added) {
      deadline_of[added] = now + 1 + (RandomDelay(random) << 8);
      deadlines.insert(deadline_of[added]);
      wheel_.Add(added, deadline_of[added]);
    }
    for (int i = 0; i < 20; ++i) {
      const size_t victim = added - 1 - random.Next() % std::min(added, kSome);
      if (deadline_of[victim] == 0) continue;
      unwant(victim);
      ++given_up;
    }
    if (deadlines.empty()) continue;
    ASSERT_LE(wheel_.EarliestNs(), *deadlines.begin() + kTickNs - 1);
    now = added < kTimers ? now + RandomDelay(random) % 100'000'000
                          : std::max(now, *deadlines.begin()) + kTickNs;
    const size_t max = random.Next() % 8 == 0 ? 5 : kAll;
    for (const uint64_t i : Due(wheel_, now, max)) {
      ASSERT_FALSE(fired[i]) << "it fires twice";
      fired[i] = true;
      if (deadline_of[i] == 0) {
        ++fired_unwanted;
        continue;
      }
      ASSERT_LE(deadline_of[i], now) << "early";
      unwant(i);
    }
    if (!deadlines.empty() && wheel_.EarliestNs() > now) {
      ASSERT_GT(*deadlines.begin() + kTickNs, now) << "more than a tick late";
    }
  }
  EXPECT_GT(given_up, kTimers / 10);
  EXPECT_LT(fired_unwanted, given_up / 2) << "most should have been forgotten";
}

TEST_F(ForgettingTimers, AddingRacesWithFiring) {
  constexpr size_t kTimers = 200'000;
  constexpr size_t kThreads = 2;
  std::vector<std::atomic<bool>> wanted(kTimers);
  std::vector<std::atomic<int>> fired(kTimers);
  TimerWheel wheel(0);
  wheel.SetIsWanted([&](uint64_t i) { return wanted[i].load(); });
  std::atomic<uint64_t> now{0};
  std::atomic<uint64_t> added{0};
  std::atomic<size_t> adding{kThreads};
  std::vector<std::thread> threads;
  for (size_t first = 0; first < kThreads; ++first) {
    threads.emplace_back([&, first] {
      Random random(first);
      for (size_t i = first; i < kTimers; i += kThreads) {
        wanted[i] = true;
        wheel.Add(i, now.load() + random.Next() % (100'000 * kTickNs));
        ++added;
        // One in eight is wanted until it is due.
        if (i / kThreads % 8 != 0) wanted[i] = false;
      }
      --adding;
    });
  }
  while (adding.load() != 0) {
    for (const uint64_t i : Due(wheel, now.load(), 5)) ++fired[i];
    // Not faster than others add, or few would lie in it at a time.
    now.store(added.load() * kTickNs);
  }
  for (std::thread& thread : threads) thread.join();
  for (const uint64_t i : Due(wheel, kEndNs)) ++fired[i];
  size_t forgotten = 0;
  for (size_t i = 0; i < kTimers; ++i) {
    if (wanted[i]) {
      ASSERT_EQ(fired[i].load(), 1) << i;
    } else {
      ASSERT_LE(fired[i].load(), 1) << i;
      forgotten += fired[i] == 0 ? 1 : 0;
    }
  }
  EXPECT_GT(forgotten, kTimers / 4);
}

}  // namespace
}  // namespace actord::runtime
