// How a worker finds its work, idles and sleeps: workers run by hand.
#include "runtime/workers/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Did = Worker::Did;

class WorkerTest : public ::testing::Test {
 protected:
  void Start(int workers) {
    core_ = std::make_unique<SteppedCore>(workers);
    core_->Settle();
  }
  // An idle process that writes `name` into trace_ at each step with events.
  Pid Named(std::string name) {
    return core_->Submit([this, name](Events events, StepOutput&) {
      if (!events.empty()) trace_.push_back(name);
    });
  }
  // An idle process that, once it got a message, sends to itself for ever.
  Pid Busy(std::string name) {
    return core_->Submit([this, name](Events events, StepOutput& out) {
      if (events.empty()) return;
      trace_.push_back(name);
      out.Send(out.self(), "again");
    });
  }

  // Before core_, so that they outlive its processes.
  std::vector<std::string> trace_;
  std::unique_ptr<SteppedCore> core_;
};

TEST_F(WorkerTest, LooksIntoItsOwnQueueThenTheGlobalOneThenItsPeers) {
  Start(2);
  const Pid local = Named("local");
  const Pid global = Named("global");
  const Pid peer = Named("peer's");
  const Pid peer_next = Named("peer's next");
  core_->WakeAll();
  core_->Send(peer, 1);
  core_->Send(peer_next, 1);
  core_->Send(global, -1);
  core_->Send(local, 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_THAT(trace_, ElementsAre("local", "global", "peer's"));
  // What a worker runs next is its own: nobody steals it.
  EXPECT_NE(core_->RunOne(0), Did::kRan);
  EXPECT_EQ(core_->RunOne(1), Did::kRan);
  EXPECT_EQ(trace_.back(), "peer's next");
}

TEST_F(WorkerTest, TakesTheGlobalQueueFirstEvery61stTurn) {
  Start(1);
  const Pid busy = Busy("busy");
  const Pid global = Named("global");
  core_->WakeAll();
  core_->Send(busy, 0);
  std::vector<size_t> turns_of_global;
  for (size_t turn = 1; turn <= 400; ++turn) {
    if (turn == 1 || trace_.back() == "global") core_->Send(global, -1);
    ASSERT_EQ(core_->RunOne(0), Did::kRan);
    if (trace_.back() == "global") turns_of_global.push_back(turn);
  }
  ASSERT_GE(turns_of_global.size(), 6u);
  for (size_t i = 1; i < turns_of_global.size(); ++i) {
    EXPECT_EQ(turns_of_global[i] - turns_of_global[i - 1], 61u);
  }
}

TEST_F(WorkerTest, AfterThreeOfTheNewestComesTheOldest) {
  Start(1);
  const Pid busy = Busy("busy");
  const Pid old_1 = Named("old 1");
  const Pid old_2 = Named("old 2");
  const Pid old_3 = Named("old 3");
  core_->WakeAll();
  for (const Pid& pid : {old_1, old_2, old_3, busy}) core_->Send(pid, 0);
  std::vector<size_t> at;
  for (size_t turn = 0; turn < 16; ++turn) {
    ASSERT_EQ(core_->RunOne(0), Did::kRan);
    if (trace_.back() != "busy") at.push_back(turn);
  }
  // The order among the old ones is theirs; the gaps are three busy turns.
  ASSERT_EQ(at.size(), 3u);
  EXPECT_LE(at[0], 3u);
  EXPECT_EQ(at[1] - at[0], 4u);
  EXPECT_EQ(at[2] - at[1], 4u);
  std::erase(trace_, "busy");
  EXPECT_THAT(trace_, ElementsAre("old 1", "old 2", "old 3"));
}

TEST_F(WorkerTest, AProcessThatContinuesGoesBehindAllThatIsReady) {
  Start(1);
  const Pid going_on = core_->Submit([this](Events events, StepOutput& out) {
    if (events.empty() && trace_.empty()) return;
    trace_.emplace_back("continues");
    if (trace_.size() < 10) out.Continue();
  });
  const Pid a = Named("a");
  const Pid b = Named("b");
  const Pid c = Named("c");
  core_->WakeAll();
  core_->Send(going_on, -1);
  core_->Send(a, -1);
  core_->Send(b, -1);
  core_->Send(c, -1);
  while (trace_.size() < 5) ASSERT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_EQ(trace_[0], "continues");
  EXPECT_EQ(std::set<std::string>(trace_.begin() + 1, trace_.begin() + 4),
            (std::set<std::string>{"a", "b", "c"}));
  EXPECT_EQ(trace_[4], "continues");
}

TEST_F(WorkerTest, AProcessThatContinuesHasATurnOf244BesideEndlessWork) {
  for (const int from : {0, -1}) {
    SCOPED_TRACE(from == 0 ? "of its worker" : "of the global queue");
    trace_.clear();
    Start(1);
    const Pid busy = from == 0 ? Busy("busy") : Named("busy");
    bool stops = false;
    const Pid going_on = core_->Submit([&](Events events, StepOutput& out) {
      if ((events.empty() && trace_.empty()) || stops) return;
      trace_.emplace_back("continues");
      out.Continue();
    });
    core_->WakeAll();
    core_->Send(going_on, 0);
    ASSERT_EQ(core_->RunOne(0), Did::kRan);
    core_->Send(busy, from);
    std::vector<size_t> at;
    for (size_t turn = 0; turn < 1600; ++turn) {
      ASSERT_EQ(core_->RunOne(0), Did::kRan);
      if (trace_.back() == "continues") at.push_back(turn);
      if (trace_.back() == "busy" && from == -1) core_->Send(busy, from);
    }
    ASSERT_GE(at.size(), 6u);
    for (size_t i = 2; i < at.size(); ++i) EXPECT_EQ(at[i] - at[i - 1], 244u);
    stops = true;
  }
}

TEST_F(WorkerTest, AProcessThatContinuesAloneWakesNobodyUntilItHasToWait) {
  Start(2);
  const Pid going_on = core_->Submit([this](Events events, StepOutput& out) {
    if (events.empty() && trace_.empty()) return;
    trace_.emplace_back("continues");
    if (trace_.size() < 5) out.Continue();
  });
  const Pid other = Named("other");
  core_->Wake(0);
  core_->Send(going_on, 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_EQ(trace_.size(), 3u);
  EXPECT_FALSE(core_->WakeIfNotified(1));
  // Something that runs before it, and of which nobody else knows.
  core_->Send(other, 0);
  EXPECT_FALSE(core_->WakeIfNotified(1));
  ASSERT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_EQ(trace_.back(), "other");
  EXPECT_TRUE(core_->WakeIfNotified(1));
  EXPECT_EQ(core_->RunOne(1), Did::kRan);
  EXPECT_EQ(trace_.back(), "continues");
}

TEST_F(WorkerTest, AProcessThatContinuesBehindAnotherWakesSomebody) {
  Start(2);
  const Pid other = Named("other");
  const Pid going_on = core_->Submit([&](Events events, StepOutput& out) {
    if (events.empty()) return;
    out.Send(ToAbi(other), "x");
    out.Continue();
  });
  core_->Wake(0);
  core_->Send(going_on, 0);
  ASSERT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_TRUE(core_->WakeIfNotified(1));
}

// A worker with a process that always continues has work for ever, and never
// searches. It must still take ready processes of other workers.
TEST_F(WorkerTest, WorkerWithOnlyContinuingProcessesSteals) {
  Start(2);
  bool stops = false;
  bool begun = false;
  const Pid endless = core_->Submit([&](Events events, StepOutput& out) {
    if (stops || (events.empty() && !begun)) return;
    begun = true;
    trace_.emplace_back("continues");
    out.Continue();
  });
  std::vector<Pid> ready;
  for (int i = 0; i < 8; ++i) ready.push_back(Named("ready"));
  core_->WakeAll();
  core_->Send(endless, 1);
  ASSERT_EQ(core_->RunOne(1), Did::kRan);
  for (const Pid& pid : ready) core_->Send(pid, 0);
  // Worker 0 is in a long step: it takes nothing more. One of them is its
  // `next`, which nobody else sees.
  for (int turn = 0; turn < 200; ++turn) {
    ASSERT_EQ(core_->RunOne(1), Did::kRan);
  }
  EXPECT_EQ(std::count(trace_.begin(), trace_.end(), "ready"), 7);
  EXPECT_EQ(trace_.back(), "continues");
  stops = true;
}

TEST_F(WorkerTest, IdleWorkerStealsAContinuingProcess) {
  Start(2);
  const Pid going_on = core_->Submit([this](Events events, StepOutput& out) {
    if (events.empty() && trace_.empty()) return;
    trace_.emplace_back("continues");
    if (trace_.size() < 3) out.Continue();
  });
  core_->WakeAll();
  core_->Send(going_on, 0);
  EXPECT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_EQ(core_->core->scheduler.GlobalLevels(), 0u);
  EXPECT_EQ(core_->RunOne(1), Did::kRan);
  EXPECT_THAT(trace_, ElementsAre("continues", "continues"));
}

TEST_F(WorkerTest, ProcessReadiedByAStepGoesBeforeTheProcessItself) {
  Start(1);
  const Pid target = Named("target");
  bool first = false;
  const Pid sender = core_->Submit([&](Events events, StepOutput& out) {
    if (events.empty()) return;
    trace_.emplace_back("sender");
    if (!std::exchange(first, false)) return;
    out.Send(out.self(), "again");
    out.Send(ToAbi(target), "x");
  });
  core_->WakeAll();
  int target_first = 0;
  for (int round = 0; round < 8; ++round) {
    trace_.clear();
    first = true;
    core_->Send(sender, 0);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(core_->RunOne(0), Did::kRan);
    target_first += trace_[1] == "target";
  }
  // All but those in which it was the turn of the oldest.
  EXPECT_GE(target_first, 5);
}

TEST_F(WorkerTest, SpinsThenYieldsThenSleeps) {
  Start(4);
  core_->Wake(0);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(core_->RunOne(0), Did::kSearch) << i;
  for (int i = 4; i <= 15; ++i) EXPECT_EQ(core_->RunOne(0), Did::kYield) << i;
  EXPECT_EQ(core_->RunOne(0), Did::kSleep);
}

TEST_F(WorkerTest, LoneWorkerSleepsAtOnce) {
  Start(1);
  core_->Wake(0);
  EXPECT_EQ(core_->RunOne(0), Did::kSleep);
}

TEST_F(WorkerTest, DoesNotSpinAfterAWakeThatCameToNothing) {
  Start(2);
  // Worker 0 is woken for a process that worker 1 takes first.
  const Pid pid = Named("x");
  core_->Settle();
  core_->Send(pid, -1);
  const int woken = core_->WakeIfNotified(0) ? 0 : 1;
  ASSERT_TRUE(woken == 0 || core_->WakeIfNotified(1));
  const int other = 1 - woken;
  core_->Wake(other);
  EXPECT_EQ(core_->RunOne(other), Did::kRan);
  EXPECT_EQ(core_->RunOne(woken), Did::kSleep);
}

TEST_F(WorkerTest, OnlyHalfOfTheBusyWorkersSearch) {
  Start(4);
  core_->WakeAll();
  // All are awake: two may search; the others sleep at once.
  EXPECT_EQ(core_->RunOne(0), Did::kSearch);
  EXPECT_EQ(core_->RunOne(1), Did::kSearch);
  EXPECT_EQ(core_->RunOne(2), Did::kSleep);
  EXPECT_EQ(core_->core->scheduler.idle().searchers(), 2);
}

TEST_F(WorkerTest, OneWakeForManyProducersWhileSomebodySearches) {
  Start(4);
  const Pid a = Named("a");
  const Pid b = Named("b");
  core_->Settle();
  core_->Send(a, -1);
  core_->Send(b, -1);
  int woken = 0;
  int who = -1;
  for (int i = 0; i < 4; ++i) {
    if (!core_->WakeIfNotified(i)) continue;
    ++woken;
    who = i;
  }
  ASSERT_EQ(woken, 1);
  // The searcher that finds work was the last one: it wakes the next.
  EXPECT_EQ(core_->RunOne(who), Did::kRan);
  woken = 0;
  for (int i = 0; i < 4; ++i) woken += core_->WakeIfNotified(i);
  EXPECT_EQ(woken, 1);
}

TEST_F(WorkerTest, ALoneSuccessorWakesNobody) {
  Start(2);
  const Pid a = Named("a");
  const Pid b = Named("b");
  core_->Settle();
  core_->Wake(0);
  core_->Send(a, 0);
  EXPECT_FALSE(core_->WakeIfNotified(1));
  // The second one makes the first visible, so somebody else may take it.
  core_->Send(b, 0);
  EXPECT_TRUE(core_->WakeIfNotified(1));
}

// A producer that comes when the worker has looked everywhere, but does not
// sleep yet, finds nobody to wake. The worker's last look must find its work.
// The timer makes the worker ask for the time in the middle of its turn: first
// after it looked into its own and the global queue, last when it is published
// as a sleeper.
class WorkerLastLook : public WorkerTest {
 protected:
  void StartWithTimer() {
    Start(1);
    late_ = Named("late");
    core_->Submit([](Events, StepOutput& out) {
      out.Yield("sleep", std::to_string(1000 * kMs));
    });
    core_->Settle();
  }
  // Runs a turn in which the work comes when the time is asked for the `at`th
  // time; returns what it did and how often it asked.
  Did RunWithWorkAt(int at, int& asked) {
    asked = 0;
    core_->clock.hook = [&, at] {
      if (++asked == at) core_->Send(late_, -1);
    };
    const Did did = core_->RunOne(0);
    core_->clock.hook = nullptr;
    return did;
  }

  Pid late_;
};

TEST_F(WorkerLastLook, WorkAfterTheSearchKeepsTheWorkerAwake) {
  StartWithTimer();
  Did did = Did::kRan;
  // Every 16th turn asks before it looks: then it has found the work already.
  for (int i = 0; i < 3 && did == Did::kRan; ++i) {
    core_->Wake(0);
    trace_.clear();
    int asked = 0;
    did = RunWithWorkAt(1, asked);
  }
  EXPECT_EQ(did, Did::kSearch);
  EXPECT_THAT(trace_, IsEmpty());
  EXPECT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_THAT(trace_, ElementsAre("late"));
}

TEST_F(WorkerLastLook, WorkThatComesToASleeperNotifiesIt) {
  StartWithTimer();
  constexpr int kAsks = 3;  // own timers, the search's, and the sleep
  for (int i = 0; i < 3 && trace_.empty(); ++i) {
    core_->Wake(0);
    int asked = 0;
    ASSERT_EQ(RunWithWorkAt(0, asked), Did::kSleep);
    if (asked != kAsks) continue;  // a 16th turn
    core_->Wake(0);
    ASSERT_EQ(RunWithWorkAt(kAsks, asked), Did::kSleep);
    // The sender of the work has claimed this worker: its sleep is short.
    EXPECT_EQ(core_->worker(0).sleep_ns(), Parker::kForever);
    ASSERT_TRUE(core_->WakeIfNotified(0));
    EXPECT_EQ(core_->RunOne(0), Did::kRan);
  }
  EXPECT_THAT(trace_, ElementsAre("late"));
}

}  // namespace
}  // namespace actord::runtime
