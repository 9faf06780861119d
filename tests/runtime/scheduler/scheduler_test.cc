// The queues and who sleeps: GlobalQueue, Scheduler, IdleWorkers, Parker.
#include "runtime/scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "runtime/scheduler/scheduler_policy.h"
#include "tests/runtime/scheduler/queue_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;

constexpr int kNobody = IdleWorkers::kNobody;

using GlobalQueueTest = QueueTest;

TEST_F(GlobalQueueTest, TakesAFairShareInOrder) {
  struct Case {
    size_t size, workers, room, taken;
  };
  const Case cases[] = {
      {0, 1, 16, 0},    {1, 1, 16, 1},  {1, 8, 16, 1},  {2, 8, 16, 1},
      {10, 1, 16, 10},  {10, 2, 16, 6}, {16, 4, 16, 5}, {100, 2, 16, 16},
      {100, 8, 16, 13}, {100, 1, 3, 3}, {100, 1, 1, 1}, {7, 256, 16, 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(::testing::Message() << c.size << " for " << c.workers);
    GlobalQueue queue;
    for (size_t i = 0; i < c.size; ++i) queue.Push((*this)[i]);
    std::vector<Process*> out(c.room);
    ASSERT_EQ(queue.Take(kDefaultPriority, out, c.workers), c.taken);
    for (size_t i = 0; i < c.taken; ++i) EXPECT_EQ(out[i], (*this)[i]);
    // The rest follows in order, one at a time.
    for (size_t i = c.taken; i < c.size; ++i) {
      Process* one = nullptr;
      ASSERT_EQ(queue.Take(kDefaultPriority, {&one, 1}, c.workers), 1u);
      EXPECT_EQ(one, (*this)[i]);
    }
    EXPECT_EQ(queue.levels(), 0u);
    // And it can be filled again.
    queue.Push((*this)[0]);
    EXPECT_EQ(queue.levels(), LevelBit(kDefaultPriority));
  }
}

TEST_F(GlobalQueueTest, EachLevelHasItsOwnOrderAndShare) {
  GlobalQueue queue;
  for (size_t i = 0; i < 100; ++i) {
    (*this)[i]->priority = i % 2 == 0 ? 3 : 30;
    queue.Push((*this)[i]);
  }
  EXPECT_EQ(queue.levels(), LevelBit(3) | LevelBit(30));
  std::vector<Process*> out(99);
  EXPECT_EQ(queue.Take(4, out, 1), 0u);
  // A share of the level, not of all.
  ASSERT_EQ(queue.Take(30, out, 2), 26u);
  for (size_t i = 0; i < 26; ++i) EXPECT_EQ(out[i], (*this)[2 * i + 1]);
  EXPECT_EQ(queue.levels(), LevelBit(3) | LevelBit(30));
  ASSERT_EQ(queue.Take(30, out, 1), 24u);
  EXPECT_EQ(queue.levels(), LevelBit(3));
  ASSERT_EQ(queue.Take(3, out, 1), 50u);
  EXPECT_EQ(queue.levels(), 0u);
}

using SchedulerTest = QueueTest;

TEST_F(SchedulerTest, TheNewestIsNextAndTheDisplacedOneVisible) {
  Scheduler scheduler(2, clock_);
  WorkerQueue& here = scheduler.queue(0);
  scheduler.Enqueue((*this)[0], &here);
  EXPECT_EQ(here.next, (*this)[0]);
  EXPECT_EQ(here.ready.SizeOf(), 0u);
  EXPECT_FALSE(scheduler.HasWork()) << "a lone successor is nobody else's";
  scheduler.Enqueue((*this)[1], &here);
  EXPECT_EQ(here.next, (*this)[1]);
  EXPECT_EQ(here.ready.SizeOf(), 1u);
  EXPECT_TRUE(scheduler.HasWork());
}

// A searcher that fired timers leaves its place to nobody for what they made
// ready, but for all else.
TEST_F(SchedulerTest, ProcessesReadiedByTimersWakeNobodyAtFirst) {
  Scheduler scheduler(2, clock_);
  WorkerQueue& here = scheduler.queue(0);
  const auto fire = [&] {
    ReadyList due;
    for (size_t i = 0; i < 3; ++i) due.processes[due.count++] = (*this)[i];
    scheduler.EnqueueDue(due, &here, clock_.MonotonicNs());
  };
  const auto empty = [&] {
    here.next = nullptr;
    while (here.ready.PopOldest(kDefaultPriority) != nullptr) {
    }
  };
  fire();
  EXPECT_TRUE(scheduler.HasWork());
  EXPECT_FALSE(scheduler.HasWorkToTell(here));
  EXPECT_TRUE(scheduler.HasWorkToTell(scheduler.queue(1)));
  scheduler.Enqueue((*this)[3], nullptr);
  EXPECT_TRUE(scheduler.HasWorkToTell(here));
  EXPECT_EQ(scheduler.TakeGlobal(here), (*this)[3]);
  EXPECT_FALSE(scheduler.HasWorkToTell(here));
  // By then it has been alone for long enough.
  empty();
  scheduler.BeginTurn(here);
  clock_.AdvanceNs(SchedulerPolicy::kAloneNs);
  fire();
  EXPECT_TRUE(scheduler.HasWorkToTell(here));
}

TEST_F(SchedulerTest, ProcessFromOutsideGoesToTheGlobalQueue) {
  Scheduler scheduler(2, clock_);
  scheduler.Enqueue((*this)[0], nullptr);
  EXPECT_TRUE(scheduler.HasWork());
  EXPECT_EQ(scheduler.TakeGlobal(scheduler.queue(1)), (*this)[0]);
  EXPECT_FALSE(scheduler.HasWork());
}

TEST_F(SchedulerTest, AProcessThatWasJustRunLetsItsSuccessorGoFirst) {
  Scheduler scheduler(1, clock_);
  WorkerQueue& here = scheduler.queue(0);
  scheduler.Enqueue((*this)[1], &here);
  scheduler.EnqueueAgain((*this)[0], &here);
  EXPECT_EQ(here.next, (*this)[1]);
  EXPECT_EQ(here.ready.PopNewest(kDefaultPriority), (*this)[0]);
  here.next = nullptr;
  scheduler.EnqueueAgain((*this)[0], &here);
  EXPECT_EQ(here.next, (*this)[0]);
}

TEST_F(SchedulerTest, OverflowSendsTheOldestHalfToTheGlobalQueue) {
  Scheduler scheduler(1, clock_);
  WorkerQueue& here = scheduler.queue(0);
  // One is next, 256 fill the queue.
  for (size_t i = 0; i <= 256; ++i) scheduler.Enqueue((*this)[i], &here);
  EXPECT_EQ(here.ready.SizeOf(), 256u);
  EXPECT_EQ(scheduler.TakeGlobal(here), nullptr);
  scheduler.Enqueue((*this)[257], &here);
  EXPECT_EQ(here.ready.SizeOf(), 129u);
  EXPECT_EQ(here.next, (*this)[257]);
  // The oldest 128, in order; the rest is still here.
  WorkerQueue other(1, clock_.MonotonicNs());
  std::vector<size_t> moved;
  while (Process* process = scheduler.TakeGlobal(other)) {
    moved.push_back(IndexOf(process));
    while (Process* more = other.ready.PopOldest(kDefaultPriority)) {
      moved.push_back(IndexOf(more));
    }
  }
  std::vector<size_t> oldest(128);
  std::iota(oldest.begin(), oldest.end(), size_t{0});
  EXPECT_EQ(moved, oldest);
  for (size_t i = 128; i <= 256; ++i) {
    EXPECT_EQ(here.ready.PopOldest(kDefaultPriority), (*this)[i]);
  }
}

TEST_F(SchedulerTest, ContinuingProcessStaysHereAndIsSeenByOthers) {
  Scheduler scheduler(1, clock_);
  WorkerQueue& here = scheduler.queue(0);
  // 256 fill the back.
  for (size_t i = 0; i < 256; ++i) scheduler.EnqueueBehind((*this)[i], &here);
  EXPECT_EQ(scheduler.GlobalLevels(), 0u);
  EXPECT_TRUE(scheduler.HasWork());
  EXPECT_EQ(here.next, nullptr);
  // Then the oldest half goes, and begins anew behind the others there.
  scheduler.EnqueueBehind((*this)[256], &here);
  EXPECT_EQ(here.ready.SizeOf(), 129u);
  WorkerQueue other(1, clock_.MonotonicNs());
  EXPECT_EQ(scheduler.TakeGlobal(other), (*this)[0]);
  EXPECT_EQ(here.ready.PopBack(kDefaultPriority), (*this)[128]);
}

TEST_F(SchedulerTest, WithoutAWorkerWhatContinuesGoesToTheGlobalQueue) {
  Scheduler scheduler(1, clock_);
  scheduler.EnqueueBehind((*this)[0], nullptr);
  EXPECT_EQ(scheduler.TakeGlobal(scheduler.queue(0)), (*this)[0]);
}

TEST_F(SchedulerTest, ABatchFromTheGlobalQueueIsBounded) {
  struct Case {
    size_t waiting, workers, filled, moved;  // moved: into the local queue
  };
  const Case cases[] = {{40, 1, 0, 15}, {40, 2, 0, 15}, {10, 2, 0, 5},
                        {40, 1, 10, 5}, {40, 1, 16, 0}, {40, 1, 256, 0},
                        {1, 4, 0, 0}};
  for (const Case& c : cases) {
    SCOPED_TRACE(::testing::Message()
                 << c.waiting << "/" << c.workers << "/" << c.filled);
    Scheduler scheduler(static_cast<int>(c.workers), clock_);
    WorkerQueue& here = scheduler.queue(0);
    for (size_t i = 0; i < c.filled; ++i)
      EXPECT_TRUE(here.ready.Push((*this)[1000 + i], kDefaultPriority));
    for (size_t i = 0; i < c.waiting; ++i) scheduler.EnqueueBack((*this)[i]);
    EXPECT_EQ(scheduler.TakeGlobal(here), (*this)[0]);
    EXPECT_EQ(here.ready.SizeOf(), c.filled + c.moved);
    // The processes that were not moved are still there.
    WorkerQueue other(99, clock_.MonotonicNs());
    size_t left = 0;
    while (scheduler.TakeGlobal(other) != nullptr) {
      for (++left; other.ready.PopOldest(kDefaultPriority) != nullptr;) ++left;
    }
    EXPECT_EQ(left, c.waiting - 1 - c.moved);
  }
}

TEST_F(SchedulerTest, StealingLooksAtEverybodyElse) {
  for (const int workers : {2, 3, 4, 5, 6, 7, 8, 12, 16, 30}) {
    Scheduler scheduler(workers, clock_);
    Random random(9);
    for (int thief = 0; thief < workers; ++thief) {
      WorkerQueue& here = scheduler.queue(static_cast<size_t>(thief));
      ASSERT_EQ(scheduler.Steal(here, random), nullptr);
      for (int victim = 0; victim < workers; ++victim) {
        if (victim == thief) continue;
        for (int round = 0; round < 20; ++round) {
          EXPECT_TRUE(scheduler.queue(static_cast<size_t>(victim))
                          .ready.Push((*this)[0], kDefaultPriority));
          Process* stolen = scheduler.Steal(here, random);
          ASSERT_EQ(stolen, (*this)[0]) << victim << " of " << workers;
        }
      }
    }
  }
}

TEST_F(SchedulerTest, StealingBeginsAnywhere) {
  constexpr size_t kWorkers = 6;
  Scheduler scheduler(kWorkers, clock_);
  Random random(9);
  std::vector<int> first(kWorkers, 0);
  for (int round = 0; round < 600; ++round) {
    for (size_t i = 1; i < kWorkers; ++i) {
      EXPECT_TRUE(scheduler.queue(i).ready.Push((*this)[i], kDefaultPriority));
    }
    ++first[IndexOf(scheduler.Steal(scheduler.queue(0), random))];
    for (size_t i = 1; i < kWorkers; ++i)
      scheduler.queue(i).ready.PopNewest(kDefaultPriority);
  }
  for (size_t i = 1; i < kWorkers; ++i) EXPECT_GT(first[i], 30) << i;
}

TEST_F(SchedulerTest, TheEarliestTimerIsThatOfAllWheels) {
  Scheduler scheduler(3, clock_);
  EXPECT_EQ(scheduler.EarliestTimerNs(), TimerWheel::kNever);
  const uint64_t now = clock_.MonotonicNs();
  scheduler.queue(0).timers.Add(1, now + 2'000'000);
  scheduler.queue(2).timers.Add(2, now + 1'000'000);
  EXPECT_EQ(scheduler.EarliestTimerNs(),
            scheduler.queue(2).timers.EarliestNs());
}

TEST(IdleWorkers, NobodyIsClaimedWhileSomebodySearches) {
  IdleWorkers idle(4);
  EXPECT_EQ(idle.ClaimForWork(), kNobody);
  idle.BeginSleep(2);
  idle.BeginSleep(3);
  // The last that slept is the warmest.
  EXPECT_EQ(idle.ClaimForWork(), 3);
  EXPECT_EQ(idle.searchers(), 1);
  EXPECT_EQ(idle.ClaimForWork(), kNobody);
  EXPECT_TRUE(idle.EndSearch());
  EXPECT_EQ(idle.ClaimForWork(), 2);
  EXPECT_TRUE(idle.EndSearch());
  EXPECT_EQ(idle.ClaimForWork(), kNobody);
  EXPECT_EQ(idle.searchers(), 0);
}

TEST(IdleWorkers, ASleeperIsTakenOffOnce) {
  IdleWorkers idle(3);
  idle.BeginSleep(0);
  idle.BeginSleep(1);
  EXPECT_TRUE(idle.EndSleep(0));
  EXPECT_FALSE(idle.EndSleep(0));
  EXPECT_EQ(idle.ClaimForWork(), 1);
  EXPECT_FALSE(idle.EndSleep(1)) << "it is claimed";
}

TEST(IdleWorkers, AtMostHalfOfTheBusySearch) {
  for (int workers = 1; workers <= 9; ++workers) {
    for (int sleepers = 0; sleepers < workers; ++sleepers) {
      IdleWorkers idle(workers);
      for (int i = 0; i < sleepers; ++i) idle.BeginSleep(i);
      const int busy = workers - sleepers;
      int searching = 0;
      while (idle.TryBeginSearch()) ++searching;
      // Rounded up: a single one may search.
      EXPECT_EQ(searching, (busy + 1) / 2) << busy;
      for (; searching > 1; --searching) EXPECT_FALSE(idle.EndSearch());
      EXPECT_TRUE(idle.EndSearch());
    }
  }
}

TEST(IdleWorkers, EachSleepEndsOnceHoweverManyWakeIt) {
  constexpr int kSleeps = 2'000;
  IdleWorkers idle(4);
  std::atomic<int> claimed{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> claimers;
  for (int i = 0; i < 2; ++i) {
    claimers.emplace_back([&] {
      while (!stop) {
        if (idle.ClaimForWork() == kNobody) {
          std::this_thread::yield();
          continue;
        }
        ++claimed;
        idle.EndSearch();
      }
    });
  }
  int ended = 0;
  for (int i = 0; i < kSleeps; ++i) {
    const int before = claimed;
    idle.BeginSleep(0);
    if (i % 8 == 0) std::this_thread::yield();
    if (idle.EndSleep(0)) {
      ++ended;
    } else {
      // The thread that claimed it is about to count that.
      while (claimed == before) std::this_thread::yield();
    }
  }
  stop = true;
  for (std::thread& claimer : claimers) claimer.join();
  EXPECT_EQ(ended + claimed, kSleeps);
  EXPECT_EQ(idle.searchers(), 0);
}

TEST(Parker, ANotificationBeforeTheWaitIsNotLost) {
  Parker parker;
  parker.Notify();
  parker.Notify();
  EXPECT_TRUE(parker.Wait(Parker::kForever));
  // Two were one.
  EXPECT_FALSE(parker.Wait(0));
}

TEST(Parker, TimesOut) {
  Parker parker;
  const auto begin = std::chrono::steady_clock::now();
  while (!parker.Wait(1'000'000) && std::chrono::steady_clock::now() - begin <
                                        std::chrono::milliseconds(5)) {
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin,
            std::chrono::milliseconds(5));
}

TEST(Parker, EveryNotificationArrives) {
  Parker ping, pong;
  constexpr int kRounds = 20'000;
  std::thread other([&] {
    for (int i = 0; i < kRounds; ++i) {
      while (!ping.Wait(Parker::kForever)) {
      }
      pong.Notify();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    ping.Notify();
    while (!pong.Wait(Parker::kForever)) {
    }
  }
  other.join();
}

}  // namespace
}  // namespace actord::runtime
