// How what a step has spawned becomes ready: together, in the order of one by
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/scheduler/scheduler.h"
#include "tests/runtime/scheduler/queue_fixture.h"

namespace actord::runtime {
namespace {

using EnqueueTogether = QueueTest;

TEST_F(EnqueueTogether, ProcessesAreReadyAsIfEnqueuedOneByOne) {
  constexpr int kNone = -1;
  struct Case {
    std::vector<int> before;    // ready already; the last is next
    std::vector<int> children;  // their levels
  };
  const Case cases[] = {{{}, {}},
                        {{}, {16}},
                        {{}, {16, 16, 16}},
                        {{16}, {16}},
                        {{16, 16, 16}, {16, 16, 16}},
                        {{20}, {16, 16}},
                        {{3, 3}, {16, 16}},
                        {{16, 16}, {16, 20, 3, 20}},
                        {{}, {3, 16}},
                        // No room: the oldest half goes to the global queue.
                        {std::vector(250, 16), std::vector(64, 16)},
                        {std::vector(250, 16), {16, 3, 16, 16, 16, 16, 20}}};
  for (const Case& c : cases) {
    std::vector<std::vector<int>> orders;
    for (const bool together : {false, true}) {
      Scheduler scheduler(2, clock_);
      WorkerQueue& here = scheduler.queue(0);
      size_t count = 0;
      const auto of_level = [&](int level) {
        Process* const process = (*this)[count++];
        process->priority = static_cast<uint8_t>(level);
        return process;
      };
      for (const int level : c.before) {
        scheduler.Enqueue(of_level(level), &here);
      }
      ReadyList list;
      for (const int level : c.children) {
        Process* const child = of_level(level);
        if (together) {
          list.processes[list.count++] = child;
        } else {
          scheduler.Enqueue(child, &here);
        }
      }
      scheduler.EnqueueTogether(list, &here);
      EXPECT_EQ(list.count, 0u);
      std::vector<int>& order = orders.emplace_back();
      order.push_back(
          here.next == nullptr ? kNone : static_cast<int>(IndexOf(here.next)));
      const Process* process = nullptr;
      do {
        for (int level = 0; level < kPriorities; ++level) {
          while ((process = here.ready.PopOldest(level)) != nullptr) {
            order.push_back(static_cast<int>(IndexOf(process)));
          }
        }
        process = scheduler.TakeGlobal(here);
        if (process != nullptr) {
          order.push_back(static_cast<int>(IndexOf(process)));
        }
      } while (process != nullptr);
      EXPECT_EQ(order.size(), std::max<size_t>(count, 1));
    }
    EXPECT_EQ(orders[0], orders[1]);
  }
}

TEST_F(EnqueueTogether, ProcessesOfAThreadWithoutAWorkerGoToTheGlobalQueue) {
  Scheduler scheduler(1, clock_);
  ReadyList list;
  for (size_t i = 0; i < 3; ++i) list.processes[list.count++] = (*this)[i];
  scheduler.EnqueueTogether(list, nullptr);
  WorkerQueue& here = scheduler.queue(0);
  EXPECT_EQ(scheduler.TakeGlobal(here), (*this)[0]);
  EXPECT_EQ(here.ready.PopOldest(kDefaultPriority), (*this)[1]);
  EXPECT_EQ(here.ready.PopOldest(kDefaultPriority), (*this)[2]);
}

TEST_F(EnqueueTogether, OverflowOfTimersWakesAWorker) {
  Scheduler scheduler(2, clock_);
  scheduler.idle().BeginSleep(1);
  WorkerQueue& here = scheduler.queue(0);
  const auto fire = [&](size_t first, size_t count) {
    ReadyList due;
    for (size_t i = 0; i < count; ++i) {
      due.processes[due.count++] = (*this)[first + i];
    }
    scheduler.EnqueueDue(due, &here, clock_.MonotonicNs());
  };
  constexpr size_t kRoom = ReadyQueues::Level::kCapacity;
  for (size_t i = 0; i < kRoom; i += 16) fire(i, 16);
  EXPECT_TRUE(here.is_quiet);
  EXPECT_EQ(scheduler.GlobalLevels(), 0u);
  EXPECT_FALSE(scheduler.queue(1).parker.Wait(0));
  fire(kRoom, 16);
  EXPECT_TRUE(scheduler.queue(1).parker.Wait(0));
  EXPECT_FALSE(here.is_quiet);
  EXPECT_EQ(scheduler.GlobalLevels(), LevelBit(kDefaultPriority));
}

}  // namespace
}  // namespace actord::runtime
