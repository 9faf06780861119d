// Which of several ready processes runs first: workers run by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/system/random.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using actord::testing::InputOf;
using actord::testing::Script;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Did = Worker::Did;

// One turn of these is for the lower priorities.
constexpr size_t kRound = 61;

class PriorityTest : public ::testing::Test {
 protected:
  void Start(int workers) {
    core_ = std::make_unique<SteppedCore>(workers);
    core_->Settle();
    core_->WakeAll();
  }

  const Script& Keep(SteppedCore::Step step) {
    scripts_.push_back(
        std::make_unique<Script>(Script{.step = std::move(step)}));
    return *scripts_.back();
  }
  // Runs once and says its priority.
  const Script& Once(int priority) {
    return Keep([this, priority](Events, StepOutput& out) {
      ran_.push_back(priority);
      out.Done();
    });
  }
  // From outside: it is on the global queue then, before its Init.
  void Submit(
      int priority, const Script& script,
      std::function<void(Pid)> done = [](Pid) {}) {
    SubmitRequest request;
    request.process_type = "script";
    request.input = {InputOf(script), ""};
    request.priority = priority;
    core_->core->admission.Submit(request, Pid{}, /*keep_result=*/false,
                                  [done](absl::StatusOr<Pid> pid) {
                                    ASSERT_TRUE(pid.ok()) << pid.status();
                                    done(*pid);
                                  });
  }
  // An idle process that says its priority at each message.
  Pid Idle(int priority) {
    Pid submitted;
    Submit(priority, Keep([this, priority](Events events, StepOutput&) {
             for (size_t i = 0; i < events.size(); ++i) {
               ran_.push_back(priority);
             }
           }),
           [&](Pid pid) { submitted = pid; });
    core_->Settle();
    core_->WakeAll();
    return submitted;
  }
  // A process that runs for ever: by a message to itself, or by continuing.
  void Endless(int priority, bool continues) {
    Submit(priority, Keep([this, priority, continues](Events, StepOutput& out) {
             ran_.push_back(priority);
             continues ? out.Continue() : out.Send(out.self(), "again");
           }));
  }

  // Runs worker 0 and expects the highest remaining process in each turn,
  // except in turns that are rounds apart. Returns the number of turns.
  size_t ExpectStrictOrder(std::multiset<int> left) {
    std::vector<size_t> exceptions;
    for (size_t turn = 0; !left.empty(); ++turn) {
      const size_t before = ran_.size();
      EXPECT_EQ(core_->RunOne(0), Did::kRan);
      if (ran_.size() != before + 1) {
        ADD_FAILURE() << "turn " << turn << " ran none of these";
        break;
      }
      if (ran_.back() != *left.rbegin()) exceptions.push_back(turn);
      left.erase(left.find(ran_.back()));
    }
    for (const size_t turn : exceptions) {
      EXPECT_EQ(turn % kRound, exceptions[0] % kRound) << turn;
    }
    return exceptions.size();
  }

  // Before core_, so that they outlive its processes.
  std::vector<int> ran_;
  std::vector<std::unique_ptr<Script>> scripts_;
  std::unique_ptr<SteppedCore> core_;
};

TEST_F(PriorityTest, ProcessesSubmittedInRandomOrderRunByPriority) {
  Start(1);
  Random random(3);
  std::multiset<int> priorities;
  for (int i = 0; i < 10'000; ++i) {
    const int priority = static_cast<int>(random.Next() % kPriorities);
    priorities.insert(priority);
    Submit(priority, Once(priority));
  }
  // A turn of each 61, while there is a lower priority than the highest.
  EXPECT_LE(ExpectStrictOrder(priorities), 10'000 / kRound + 1);
}

TEST_F(PriorityTest, ChildrenBeyondTheLocalQueueKeepTheOrder) {
  Start(1);
  std::multiset<int> priorities;
  Submit(31, Keep([&](Events, StepOutput& out) {
           Random random(4);
           for (int i = 0; i < 10'000; ++i) {
             const int priority = static_cast<int>(random.Next() % kPriorities);
             priorities.insert(priority);
             EXPECT_FALSE(out.Spawn("script", "run", InputOf(Once(priority)),
                                    {.priority = priority})
                              .empty());
           }
           out.Done();
         }));
  core_->RunOne(0);
  ASSERT_EQ(priorities.size(), 10'000u);
  // Each level has overflown, so both queues are in this.
  EXPECT_EQ(core_->core->scheduler.GlobalLevels(), kAllLevels);
  EXPECT_EQ(core_->queue(0).ready.levels(), kAllLevels);
  EXPECT_LE(ExpectStrictOrder(priorities), 10'000 / kRound + 1);
}

TEST_F(PriorityTest, UnderEndlessHigherLoadEachLowerLevelStillMoves) {
  for (const bool continues : {false, true}) {
    SCOPED_TRACE(continues ? "behind its own queue" : "on its own queue");
    Start(1);
    ran_.clear();
    Endless(31, continues);
    // The lowest is endless too, in its own queue and behind it.
    Endless(0, false);
    Endless(0, true);
    Submit(10, Once(10));
    // Two levels are below the highest; each has two queues here.
    for (size_t turn = 0; turn < 2 * 2 * kRound; ++turn) core_->RunOne(0);
    EXPECT_EQ(std::count(ran_.begin(), ran_.end(), 10), 1);
    // And both of the lowest, again and again: nearly every round but that one.
    for (size_t turn = 0; turn < 100 * kRound; ++turn) core_->RunOne(0);
    const auto low = std::count(ran_.begin(), ran_.end(), 0);
    EXPECT_GE(low, 100);
    EXPECT_LE(low, 105);
  }
}

TEST_F(PriorityTest, AmongTheLowerLevelsTheLowestIsFirstThenTheNextAbove) {
  // The second has nothing at the default level, nor above.
  for (const auto& [middle, high, top] :
       {std::tuple(7, 20, 31), std::tuple(3, 7, 10)}) {
    Start(1);
    ran_.clear();
    for (const int priority : {0, middle, high, top}) Endless(priority, false);
    std::vector<int> low;
    while (low.size() < 7) {
      core_->RunOne(0);
      if (ran_.back() != top) low.push_back(ran_.back());
      ASSERT_LE(ran_.size(), 8 * kRound);
    }
    EXPECT_THAT(low, ElementsAre(0, middle, high, 0, middle, high, 0));
  }
}

TEST_F(PriorityTest, ALowLevelIsServedFromAllQueuesByTurns) {
  Start(1);
  const Pid outside = Idle(0);
  Endless(31, false);
  std::array<int64_t, 2> ran{};
  for (const bool continues : {false, true}) {
    Submit(0, Keep([&ran, continues](Events, StepOutput& out) {
             ++ran[continues];
             continues ? out.Continue() : out.Send(out.self(), "again");
           }));
  }
  int64_t sent = 0;
  for (size_t turn = 0; turn < 100 * kRound; ++turn) {
    const auto runs = std::count(ran_.begin(), ran_.end(), 0);
    for (; sent == runs; ++sent) core_->Send(outside, -1);
    core_->RunOne(0);
  }
  EXPECT_GE(std::min({ran[0], ran[1], sent}), 30);
}

TEST_F(PriorityTest, ProcessReadiedByAStepWaitsForAHigherReadyOne) {
  Start(2);
  const Pid low = Idle(5);
  const Pid high = Idle(25);
  for (const bool high_last : {false, true}) {
    SCOPED_TRACE(high_last);
    ran_.clear();
    core_->Send(high_last ? low : high, 0);
    core_->Send(high_last ? high : low, 0);
    // The higher one keeps its place; the lower one others may see.
    EXPECT_EQ(core_->queue(0).next, &core_->process(high));
    EXPECT_EQ(core_->queue(0).ready.Size(5), 1u);
    core_->RunOne(0);
    core_->RunOne(0);
    EXPECT_THAT(ran_, ElementsAre(25, 5));
  }
}

TEST_F(PriorityTest, ProcessThatDoesNotRunNextBecomesVisibleToOthers) {
  Start(2);
  // Below the default level and above it, which counts as always ready.
  for (const int low_level : {5, 20}) {
    SCOPED_TRACE(low_level);
    const Pid low = Idle(low_level);
    const Pid high = Idle(25);
    ran_.clear();
    // The higher one is on the global queue.
    core_->Send(low, 0);
    core_->Send(high, -1);
    ASSERT_EQ(core_->queue(0).next, &core_->process(low));
    core_->RunOne(0);
    EXPECT_THAT(ran_, ElementsAre(25));
    EXPECT_EQ(core_->queue(0).next, nullptr);
    EXPECT_EQ(core_->RunOne(1), Did::kRan);
    EXPECT_THAT(ran_, ElementsAre(25, low_level));
  }
}

TEST_F(PriorityTest, AProcessWithMoreToDoGoesOnBeforeALowerOneThatItMadeReady) {
  Start(1);
  const Pid low = Idle(5);
  const Pid high = Idle(25);
  WorkerQueue& here = core_->queue(0);
  Scheduler& scheduler = core_->core->scheduler;
  // They have nothing to do, in truth.
  core_->process(low).activity.fetch_add(Activity::kReady);
  core_->process(high).activity.fetch_add(Activity::kReady);
  scheduler.Enqueue(&core_->process(low), &here);
  scheduler.EnqueueAgain(&core_->process(high), &here);
  EXPECT_EQ(here.next, &core_->process(high));
  EXPECT_EQ(here.ready.Size(5), 1u);
  core_->RunOne(0);
  core_->RunOne(0);
}

TEST_F(PriorityTest, AHigherOneOnTheGlobalQueueGoesFirstAndAnEqualOneDoesNot) {
  Start(1);
  const Pid here = Idle(10);
  const Pid equal = Idle(10);
  const Pid higher = Idle(11);
  core_->Send(here, 0);
  core_->Send(equal, -1);
  core_->Send(higher, -1);
  core_->RunOne(0);
  EXPECT_THAT(ran_, ElementsAre(11));
  EXPECT_EQ(core_->core->scheduler.GlobalLevels(), LevelBit(10));
  core_->RunOne(0);
  core_->RunOne(0);
  EXPECT_THAT(ran_, ElementsAre(11, 10, 10));
}

TEST_F(PriorityTest, OldestOfALevelIsFourthAlsoBesideAHigherLevel) {
  Start(1);
  const Pid old = Idle(5);
  const Pid high = Idle(25);
  // Newer ones of its level come all the time, and one of a higher level each
  // second turn, so that the two levels would share a count unevenly.
  std::vector<Pid> newer;
  for (int i = 0; i < 2; ++i) {
    Pid pid;
    Submit(5, Keep([this](Events events, StepOutput& out) {
             if (events.empty()) return;
             ran_.push_back(6);
             out.Send(out.self(), "again");
           }),
           [&](Pid submitted) { pid = submitted; });
    core_->Settle();
    core_->WakeAll();
    newer.push_back(pid);
  }
  core_->Send(old, 0);
  for (const Pid& pid : newer) core_->Send(pid, 0);
  int low_turns = 0;
  while (std::count(ran_.begin(), ran_.end(), 5) == 0) {
    core_->Send(high, 0);
    core_->RunOne(0);
    ASSERT_EQ(ran_.back(), 25);
    core_->RunOne(0);
    ASSERT_NE(ran_.back(), 25);
    ASSERT_LE(++low_turns, 5);
  }
}

TEST_F(PriorityTest, OverflowSendsHalfOfTheFullLevelAndNothingElse) {
  Start(1);
  Submit(31, Keep([this](Events, StepOutput& out) {
           for (int i = 0; i < 10; ++i) {
             EXPECT_FALSE(
                 out.Spawn("script", "run", InputOf(Once(3)), {.priority = 3})
                     .empty());
           }
           for (int i = 0; i < 258; ++i) {
             EXPECT_FALSE(
                 out.Spawn("script", "run", InputOf(Once(20)), {.priority = 20})
                     .empty());
           }
           out.Done();
         }));
  core_->RunOne(0);
  const ReadyQueues& ready = core_->queue(0).ready;
  EXPECT_EQ(core_->core->scheduler.GlobalLevels(), LevelBit(20));
  EXPECT_EQ(ready.Size(20), 129u);
  EXPECT_EQ(ready.Size(3), 10u);
  std::multiset<int> left;
  for (int i = 0; i < 268; ++i) left.insert(i < 10 ? 3 : 20);
  ExpectStrictOrder(left);
}

// What another worker holds may be higher; what the global queue and the worker
// itself hold is not, but in the turns for the lower ones.
TEST_F(PriorityTest, TwoWorkersDifferFromTheOrderOnlyByWhatTheyHold) {
  Start(2);
  Random random(5);
  constexpr size_t kProcesses = 4000;
  for (size_t i = 0; i < kProcesses; ++i) {
    const int priority = static_cast<int>(random.Next() % kPriorities);
    Submit(priority, Once(priority));
  }
  size_t exceptions = 0;
  while (ran_.size() < kProcesses) {
    const int worker = static_cast<int>(random.Next() % 2);
    core_->Wake(worker);
    const ReadyQueues& ready = core_->queue(worker).ready;
    const uint32_t global = core_->core->scheduler.GlobalLevels();
    int highest = global == 0 ? -1 : HighestLevel(global);
    for (int level = 0; level < kPriorities; ++level) {
      if (ready.Size(level) != 0) highest = std::max(highest, level);
    }
    if (core_->RunOne(worker) != Did::kRan) continue;
    if (highest != -1 && ran_.back() != highest) ++exceptions;
  }
  EXPECT_LE(exceptions, kProcesses / kRound + 2);
}

TEST_F(PriorityTest, ASpawnWithoutAPriorityHasTheDefaultNotItsParents) {
  Start(1);
  Pid child;
  Submit(31, Keep([&](Events, StepOutput& out) {
           child = FromAbi(out.Spawn("script", "run", InputOf(Once(0))));
           out.Done();
         }));
  core_->RunOne(0);
  EXPECT_EQ(core_->process(child).Priority(), 16);
}

TEST_F(PriorityTest, ASpawnAboveTheHighestFailsTheStep) {
  Start(1);
  for (const int wrong : {32, -1}) {
    Submit(16, Keep([&, wrong](Events, StepOutput& out) {
             EXPECT_TRUE(out.Spawn("script", "run", InputOf(Once(0)),
                                   {.priority = wrong})
                             .empty());
             out.Done();
           }));
    const uint64_t failed = core_->core->Stats().processes_failed;
    core_->RunOne(0);
    EXPECT_EQ(core_->core->Stats().processes_failed, failed + 1);
  }
  EXPECT_THAT(ran_, IsEmpty());
}

TEST_F(PriorityTest, ASubmissionOutsideTheRangeIsRefused) {
  Start(1);
  for (const int wrong : {-1, 32, 1000}) {
    SubmitRequest request;
    request.process_type = "script";
    request.priority = wrong;
    absl::Status status;
    core_->core->admission.Submit(
        request, Pid{}, false,
        [&](absl::StatusOr<Pid> pid) { status = pid.status(); });
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_NE(status.message().find("priority"), std::string::npos);
  }
}

}  // namespace
}  // namespace actord::runtime
