// Tests credits, patterns, turns, and which worker is woken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "tests/runtime/tasks/task_queue_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// --- credits and patterns
// -----------------------------------------------------

TEST_F(TaskQueueTest, NoWorkerIsSentMoreThanItsCredits) {
  for (uint64_t tag = 1; tag <= 5; ++tag) Add(tag);
  const auto worker = Open({"a"}, 2);
  EXPECT_THAT(TakeAll(worker), ElementsAre(1, 2));
  EXPECT_EQ(queue_.leased(), 2u);
  // A removed task gives no credit back.
  queue_.Remove(TokenOf(1), 1);
  EXPECT_THAT(TakeAll(worker), IsEmpty());
  EXPECT_TRUE(queue_.AddCredits(worker, 1));
  EXPECT_THAT(TakeAll(worker), ElementsAre(3));
}

TEST_F(TaskQueueTest, CreditsAndTasksHeldHaveALimit) {
  const auto worker = Open({"a"}, RemoteTasks::kMaxTasks);
  EXPECT_FALSE(queue_.AddCredits(worker, 1));
  EXPECT_FALSE(queue_.AddCredits(worker, UINT32_MAX));
  Add(1);
  EXPECT_EQ(Take(worker), 1u);
  EXPECT_FALSE(queue_.AddCredits(worker, 1));
  queue_.Remove(TokenOf(1), 1);
  EXPECT_TRUE(queue_.AddCredits(worker, 1));
}

TEST_F(TaskQueueTest, AWorkerThatStopsIsSentNothingMore) {
  const auto worker = Open({"a"}, 5);
  EXPECT_EQ(Take(worker), 0u);
  queue_.StopTasks(worker);
  Add(1);
  EXPECT_TRUE(queue_.AddCredits(worker, 5));
  EXPECT_EQ(Take(worker), 0u);
  EXPECT_THAT(queue_.TakeWoken(), IsEmpty());
}

TEST_F(TaskQueueTest, TasksWithoutAWorkerAreCounted) {
  EXPECT_EQ(queue_.CountUnserved(), 0u);
  for (uint64_t tag = 1; tag <= 3; ++tag) Add(tag, "pay.charge");
  Add(4, "print");
  EXPECT_EQ(queue_.CountUnserved(), 4u);
  const auto printer = Open({"print"}, 0);
  EXPECT_EQ(queue_.CountUnserved(), 3u);
  const auto payer = Open({"pay.*"}, 0);
  EXPECT_EQ(queue_.CountUnserved(), 0u);
  queue_.Close(payer, 1);
  queue_.Close(printer, 1);
  EXPECT_EQ(queue_.CountUnserved(), 4u);
  queue_.Remove(TokenOf(4), 0);
  EXPECT_EQ(queue_.CountUnserved(), 3u);
}

TEST_F(TaskQueueTest, PatternsDecideWhichWorkerGetsATask) {
  const auto exact = Open({"pay.charge"}, 100);
  const auto prefix = Open({"pay.*", "pay.*", "print"}, 100);
  // Before and after the worker: its pattern finds both.
  Add(1, "pay.charge");
  Add(2, "pay.refund");
  Add(3, "pay");
  Add(4, "print");
  Add(5, "printer");
  EXPECT_THAT(TakeAll(exact), ElementsAre(1));
  EXPECT_THAT(TakeAll(prefix), ElementsAre(2, 4));
  const auto all = Open({"*"}, 100);
  EXPECT_THAT(TakeAll(all), ElementsAre(3, 5));
}

// A command may have any name, also a name that looks like a pattern.
TEST_F(TaskQueueTest, ACommandWithAStarInItsNameIsTakenOnce) {
  Add(1, "a*");
  Add(2, "a*");
  EXPECT_THAT(TakeAll(Open({"a*"}, 10)), ElementsAre(1, 2));
}

// --- fairness
// -----------------------------------------------------------------

TEST_F(TaskQueueTest, ProcessesOfOneCommandTakeTurns) {
  for (uint64_t tag = 1; tag <= 4; ++tag) Add(tag, "a", 1);
  Add(11, "a", 2);
  Add(12, "a", 2);
  Add(21, "a", 3);
  EXPECT_THAT(TakeAll(Open({"a"}, 100)), ElementsAre(1, 11, 21, 2, 12, 3, 4));
}

TEST_F(TaskQueueTest, CommandsOfOnePatternTakeTurns) {
  for (uint64_t tag = 1; tag <= 4; ++tag) Add(tag, "p.a");
  Add(11, "p.b");
  Add(12, "p.b");
  EXPECT_THAT(TakeAll(Open({"p.*"}, 100)), ElementsAre(1, 11, 2, 12, 3, 4));
}

TEST_F(TaskQueueTest, PatternsOfOneWorkerTakeTurns) {
  for (uint64_t tag = 1; tag <= 3; ++tag) Add(tag, "a");
  for (uint64_t tag = 11; tag <= 13; ++tag) Add(tag, "b");
  EXPECT_THAT(TakeAll(Open({"a", "b"}, 100)), ElementsAre(1, 11, 2, 12, 3, 13));
}

// --- waking
// -------------------------------------------------------------------

TEST_F(TaskQueueTest, ATaskWakesTheWorkerThatRestsLongest) {
  const auto first = Open({"a"}, 1);
  const auto second = Open({"*"}, 1);
  const auto third = Open({"a"}, 1);
  for (const auto id : {third, first, second}) EXPECT_EQ(Take(id), 0u);
  Add(1);
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre(third));
  Add(2);
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre(first));
  Add(3);
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre(second));
  Add(4);
  EXPECT_THAT(queue_.TakeWoken(), IsEmpty());
}

TEST_F(TaskQueueTest, BusyWorkerAndWorkerWithoutCreditsAreNotWoken) {
  queue_.Served(Open({"a"}, 1), /*rests=*/false);
  queue_.Served(Open({"a"}, 0), /*rests=*/true);
  Add(1);
  EXPECT_THAT(queue_.TakeWoken(), IsEmpty());
}

// The worker that was woken for "a" takes "b" with its only credit: the next
// one has to hear of "a".
TEST_F(TaskQueueTest, TaskThatAWokenWorkerLeavesWakesAnotherWorker) {
  const auto both = Open({"b", "a"}, 1);
  const auto other = Open({"a*"}, 1);
  EXPECT_EQ(Take(both), 0u);
  EXPECT_EQ(Take(other), 0u);
  Add(1, "a");
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre(both));
  Add(2, "b");
  EXPECT_EQ(Take(both), 2u);
  EXPECT_THAT(queue_.TakeWoken(), ElementsAre(other));
  EXPECT_EQ(Take(other), 1u);
}

TEST_F(TaskQueueTest, TaskThatAnEndingWorkerLeavesWakesAnotherWorker) {
  for (const bool closes : {false, true}) {
    const auto woken = Open({"a"}, 1);
    const auto other = Open({"a*"}, 1);
    EXPECT_EQ(Take(woken), 0u);
    EXPECT_EQ(Take(other), 0u);
    Add(1);
    EXPECT_THAT(queue_.TakeWoken(), ElementsAre(woken));
    closes ? queue_.Close(woken, now_) : queue_.StopTasks(woken);
    EXPECT_THAT(queue_.TakeWoken(), ElementsAre(other));
    EXPECT_EQ(Take(other), 1u);
    queue_.Close(other, now_);
    queue_.Close(woken, now_);
    queue_.Remove(TokenOf(1), 0);
    EXPECT_THAT(queue_.TakeWoken(), IsEmpty());
  }
}

// --- many
// ---------------------------------------------------------------------

// Nanoseconds for one task that comes, fails once, is handed out again and
// completes, while so many others wait; the best of several rounds, so that
// what else the machine does is left out.
double CostBeside(size_t waiting, uint32_t processes) {
  WorkPolicy policy{.pattern = "*", .max_attempts = 1'000'000};
  policy.backoff = absl::ZeroDuration();
  policy.start_timeout = absl::Hours(1);
  TaskQueue queue({policy});
  const RemoteWorkerId worker = queue.Open({"a", "b*"}, "", Owner::kNobody);
  uint64_t next = 1;
  const auto add = [&] {
    const auto process = static_cast<uint32_t>(next % processes);
    queue.Add({{1, 1, process, 1}, next++}, "a", 0);
  };
  while (next <= waiting) add();
  constexpr int kRounds = 15;
  constexpr int kTasks = 200;
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kTasks; ++i) {
      add();
      EXPECT_TRUE(queue.AddCredits(worker, 2));
      const auto first = queue.Take(worker, 0);
      EXPECT_TRUE(queue.Heartbeat(first->token, 0));
      EXPECT_TRUE(queue.Fail(
          first->token, {absl::StatusCode::kAborted, "x", std::nullopt}, 0));
      queue.Tick(0);
      const auto again = queue.Take(worker, 0);
      queue.Remove(again->token, again->attempt);
      queue.Served(worker, /*rests=*/false);
    }
    const std::chrono::duration<double, std::nano> took =
        std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / kTasks);
  }
  return best;
}

TEST_F(TaskQueueTest, WorkersAreListedWithTheirState) {
  const auto names = [this](const RemoteWorkerFilter& filter,
                            RemoteWorkerId after = 0, size_t count = 10) {
    std::vector<std::string> found;
    for (const auto& worker : queue_.ListWorkers(filter, after, count)) {
      found.push_back(worker.name);
    }
    return found;
  };
  using Names = std::vector<std::string>;
  const Owner ann{7};
  const Owner ben{8};
  const auto press = queue_.Open({"a", "b.*", "a"}, "press", ann, 5);
  const auto lathe = queue_.Open({"c"}, "lathe", ben);
  const auto saw = queue_.Open({"*"}, "saw", ann);
  EXPECT_EQ(names({}), (Names{"press", "lathe", "saw"}));
  EXPECT_EQ(names({.by = ann, .command = ""}), (Names{"press", "saw"}));
  EXPECT_EQ(names({.by = Owner::kAny, .command = "b.c"}),
            (Names{"press", "saw"}));
  EXPECT_EQ(names({.by = Owner::kAny, .command = "c"}),
            (Names{"lathe", "saw"}));
  EXPECT_EQ(names({}, 0, 2), (Names{"press", "lathe"}));
  EXPECT_EQ(names({}, lathe, 2), (Names{"saw"}));

  EXPECT_TRUE(queue_.AddCredits(press, 3));
  Add(1, "quick.cut");
  Add(2, "a");
  EXPECT_EQ(Take(press), 2U);
  EXPECT_TRUE(queue_.AddCredits(saw, 1));
  EXPECT_EQ(Take(saw), 1U);
  queue_.StopTasks(lathe);
  // The lease of quick.cut lasts 10 s.
  AdvanceTo(11);
  const auto listed = queue_.ListWorkers({}, 0, 10);
  ASSERT_EQ(listed.size(), 3U);
  EXPECT_EQ(listed[0].id, press);
  EXPECT_EQ(listed[0].owner, ann);
  EXPECT_EQ(listed[0].patterns, (Names{"a", "b.*"}));
  EXPECT_EQ(listed[0].tasks, 1U);
  EXPECT_EQ(listed[0].credits, 2U);
  EXPECT_EQ(listed[0].opened_unix_ns, 5U);
  EXPECT_FALSE(listed[0].is_silent || listed[0].is_stopped);
  EXPECT_TRUE(listed[1].is_stopped);
  EXPECT_TRUE(listed[2].is_silent);
  EXPECT_EQ(listed[2].tasks, 0U);
  queue_.Heard(saw);
  EXPECT_FALSE(queue_.ListWorkers({}, lathe, 1)[0].is_silent);
  queue_.Close(press, now_);
  EXPECT_EQ(names({}), (Names{"lathe", "saw"}));
}

// A search among the waiting tasks would cost hundreds of times as much. The
// small increase comes from tables that no longer fit into the caches.
TEST(WorkQueueCost, TenThousandWaitingTasksAreNoDearerThanTen) {
  for (const uint32_t processes : {1U, 100'000U}) {
    double ratio = 1e9;
    for (int attempt = 0; attempt < 5 && ratio > 4; ++attempt) {
      ratio = std::min(
          ratio, CostBeside(10'000, processes) / CostBeside(10, processes));
    }
    EXPECT_LT(ratio, 4) << processes;
  }
}

}  // namespace
}  // namespace actord::runtime
