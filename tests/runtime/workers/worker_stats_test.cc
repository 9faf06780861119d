// What the runtime counts for each worker. Workers run by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

class WorkerStatsTest : public ::testing::Test {
 protected:
  void Start(int workers, const RuntimeOptions& options = {}) {
    core_ = std::make_unique<SteppedCore>(workers, options);
    core_->Settle();
  }
  WorkerStats Of(size_t worker) {
    return core_->core->Stats().of_workers.at(worker);
  }

  std::unique_ptr<SteppedCore> core_;
};

TEST_F(WorkerStatsTest, OnlyTurnsThatRanAProcessCount) {
  Start(1);
  EXPECT_EQ(Of(0).turns, 0u) << "to find nothing is no turn";
  const Pid pid = core_->Submit([](Events, StepOutput&) {});
  const uint64_t before = Of(0).turns;
  for (int i = 0; i < 100; ++i) {
    core_->Send(pid, -1);
    core_->Settle();
  }
  EXPECT_EQ(Of(0).turns, before + 100);
}

TEST_F(WorkerStatsTest, ABusyWorkerPublishesItsTurnsNowAndThen) {
  Start(1);
  std::vector<uint64_t> behind;
  uint64_t steps = 0;
  bool stop = false;
  core_->Submit([&](Events, StepOutput& out) {
    ++steps;
    behind.push_back(steps - Of(0).turns);
    if (steps == 1000) stop = true;
    if (!stop) out.Continue();
  });
  ASSERT_EQ(behind.size(), 1000u);
  for (const uint64_t each : behind) EXPECT_LE(each, 16u);
}

TEST_F(WorkerStatsTest, ASampleOfTurnsIsMeasuredByType) {
  RuntimeOptions options;
  options.samples_turns = true;
  Start(1, options);
  const auto taking = [this](uint64_t ns) {
    return actord::testing::Script{.step = [this, ns](Events, StepOutput&) {
      core_->clock.manual.AdvanceNs(ns);
    }};
  };
  const auto short_script = taking(2000);
  const auto long_script = taking(200'000);
  const Pid quick = core_->Submit(short_script);
  const Pid slow = core_->Submit(long_script, "cancellable");
  constexpr uint64_t kTurns = 100 * TurnTimes::kTurnsPerSample;
  // In a steady rhythm, to which the sample must be deaf.
  for (uint64_t i = 0; i < kTurns; ++i) {
    core_->Send(quick, -1);
    core_->Settle();
    core_->Send(slow, -1);
    core_->Settle();
  }
  const auto times = core_->core->TurnTimesByType();
  ASSERT_EQ(times.size(), 2u);
  for (const auto& [type, bucket, ns] :
       {std::tuple("script", 1u, 2000u), {"cancellable", 4u, 200'000u}}) {
    SCOPED_TRACE(type);
    const TurnHistogram& histogram = times.at(type);
    const uint64_t turns = histogram.turns.at(bucket);
    EXPECT_GT(turns, 50u);
    EXPECT_LT(turns, 200u);
    EXPECT_EQ(histogram.sum_ns, turns * ns) << "all turns took the same time";
  }
}

TEST_F(WorkerStatsTest, NoTurnIsMeasuredUnasked) {
  Start(1);
  const Pid pid = core_->Submit([](Events, StepOutput&) {});
  for (int i = 0; i < 1000; ++i) {
    core_->Send(pid, -1);
    core_->Settle();
  }
  EXPECT_TRUE(core_->core->TurnTimesByType().empty());
}

TEST_F(WorkerStatsTest, ASleepThatEndsIsAWakeUp) {
  Start(1);
  const Pid pid = core_->Submit([](Events, StepOutput&) {});
  const uint64_t before = Of(0).wake_ups;
  for (int i = 0; i < 3; ++i) {
    core_->Send(pid, -1);
    core_->Settle();
  }
  EXPECT_EQ(Of(0).wake_ups, before + 3);
}

TEST_F(WorkerStatsTest, QueuesAndStealsAreCounted) {
  Start(2);
  std::vector<Pid> pids;
  for (int i = 0; i < 11; ++i) {
    pids.push_back(core_->Submit([](Events, StepOutput&) {}));
  }
  const uint64_t stolen = Of(0).steals + Of(1).steals;
  EXPECT_EQ(core_->core->Stats().ready_global, 0u);
  for (const Pid& pid : pids) core_->Send(pid, 0);
  // One of them runs next and is in no queue.
  EXPECT_EQ(Of(0).ready, 10u);
  EXPECT_EQ(Of(1).ready, 0u);
  core_->Wake(1);
  while (Of(1).steals + Of(0).steals == stolen && !core_->IsAsleep(1)) {
    core_->RunOne(1);
  }
  EXPECT_EQ(Of(1).steals + Of(0).steals, stolen + 1);
  EXPECT_LT(Of(0).ready, 10u);
  core_->WakeAll();
  core_->Settle();
  EXPECT_EQ(Of(0).ready + Of(1).ready, 0u);
}

TEST_F(WorkerStatsTest, TheQueueOfAllWorkersIsCounted) {
  Start(1);
  const Pid first = core_->Submit([](Events, StepOutput&) {});
  const Pid second = core_->Submit([](Events, StepOutput&) {});
  core_->Send(first, -1);
  core_->Send(second, -1);
  EXPECT_EQ(core_->core->Stats().ready_global, 2u);
  core_->Settle();
  EXPECT_EQ(core_->core->Stats().ready_global, 0u);
}

TEST_F(WorkerStatsTest, AHandOverIsCounted) {
  Start(1);
  const Pid pid = core_->Submit([&](Events events, StepOutput&) {
    if (events.empty()) return;
    // The watchdog finds the call under way, and finds it again when its
    // patience is over.
    Watchdog& watchdog = core_->core->threads.watchdog();
    watchdog.CheckAll();
    core_->clock.manual.AdvanceNs(SchedulerPolicy::kCallPatienceNs);
    watchdog.CheckAll();
  });
  EXPECT_EQ(Of(0).hand_overs, 0u);
  core_->Send(pid, -1);
  core_->Settle();
  EXPECT_EQ(Of(0).hand_overs, 1u);
}

}  // namespace
}  // namespace actord::runtime
