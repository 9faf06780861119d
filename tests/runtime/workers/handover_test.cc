// How a worker leaves a thread that a plugin keeps: step by step, with the
// watchdog's looks in the middle of a step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/scheduler/scheduler_policy.h"
#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Events = actord::Events;
using StepOutput = actord::StepOutput;

class BlockingScript : public actord::testing::ScriptProcess {
 public:
  static constexpr const char* kName = "blocking";
  static constexpr bool kBlocksThread = true;
};

class Handover : public ::testing::Test {
 protected:
  void SetUp() override { StartWith({}); }
  void StartWith(RuntimeOptions options) {
    options.log = [this](LogLevel, std::string_view message) {
      log_.emplace_back(message);
    };
    core_ = std::make_unique<SteppedCore>(1, options);
    ASSERT_TRUE(
        core_->catalog
            .AddProcessType(&actord::kProcessType<BlockingScript>, "test")
            .ok());
  }

  Watchdog& watchdog() { return core_->core->threads.watchdog(); }
  // Looks until it rests; returns for how long.
  uint64_t LetRest() {
    uint64_t ns = 0;
    for (int i = 0; i < 20 && ns <= SchedulerPolicy::kLongestCheckNs; ++i) {
      ns = watchdog().CheckAll();
    }
    return ns;
  }
  // The watchdog finds a call under way, and finds it again when its time is
  // over.
  void LookUntilTaken() {
    watchdog().CheckAll();
    core_->clock.manual.AdvanceNs(SchedulerPolicy::kCallPatienceNs);
    watchdog().CheckAll();
  }

  // A process that says its name whenever it gets a message.
  Pid SubmitTracer(const std::string& name) {
    return core_->Submit([this, name](Events events, StepOutput&) {
      if (!events.empty()) trace_.push_back(name);
    });
  }

  std::vector<std::string> trace_;
  std::vector<std::string> log_;
  std::unique_ptr<SteppedCore> core_;
};

TEST_F(Handover, AStepThatLastsLosesItsWorkerAndEndsWithoutOne) {
  const Pid other = SubmitTracer("other");
  const Pid successor = SubmitTracer("successor");
  const Pid slow = core_->Submit([&](Events events, StepOutput& out) {
    if (events.empty()) return;
    WorkerThreads::Thread& mine = core_->thread(0);
    out.Send(ToAbi(successor), "m");
    core_->Send(other, -1);
    LookUntilTaken();
    ASSERT_NE(&core_->thread(0), &mine);
    trace_.push_back("taken");
    // On the worker's new thread, in the middle of this step.
    core_->RunUntilSleep(0);
    trace_.push_back("back");
    out.Continue();
  });
  core_->Send(slow, -1);
  WorkerThreads::Thread& mine = core_->thread(0);
  core_->Wake(0);
  core_->RunOne(0);
  EXPECT_THAT(trace_, ElementsAre("taken", "other", "back"));
  EXPECT_EQ(mine.lane.here(), nullptr);
  // What the step wanted has become ready for the other thread, and so has the
  // process itself.
  EXPECT_TRUE(core_->core->scheduler.HasWork());
  core_->Settle();
  EXPECT_THAT(trace_, ElementsAre("taken", "other", "back", "successor"));
  EXPECT_EQ(core_->process(slow).steps, 3u);
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_THAT(
      log_[0],
      AllOf(HasSubstr("process " + FormatPid(slow) +
                      " (script): its Step has kept a worker for 10 ms, and "
                      "is still running; another thread"),
            HasSubstr("set kBlocksThread (in C ACTORD_TYPE_BLOCKS_THREAD)")));
}

TEST_F(Handover, NoThreadIsStartedAfterTheEnd) {
  WorkerThreads& threads = core_->core->threads;
  threads.Stop();
  EXPECT_TRUE(threads.Start().ok());
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_FALSE(threads.at(0).thread.joinable());
  LookUntilTaken();
  EXPECT_EQ(threads.size(), 1u);
  // Stop notifies workers that nobody has claimed; here they go on.
  while (core_->queue(0).parker.Wait(0)) {
  }
}

TEST_F(Handover, TheThreadThatCameBackIsUsedAgain) {
  const Pid slow = core_->Submit([&](Events events, StepOutput&) {
    if (events.empty()) return;
    LookUntilTaken();
  });
  for (int i = 0; i < 5; ++i) {
    core_->Send(slow, -1);
    core_->Settle();
  }
  EXPECT_EQ(core_->core->threads.size(), 2u);
  // Said once: the clock has not moved on by much.
  EXPECT_EQ(log_.size(), 1u);
  core_->clock.manual.AdvanceNs(10'000'000'000);
  core_->Send(slow, -1);
  core_->Settle();
  ASSERT_EQ(log_.size(), 2u);
  EXPECT_THAT(log_[1], HasSubstr("happened 4 more times"));
}

TEST_F(Handover, AStepThatComesBackInTimeKeepsItsWorker) {
  const Pid slow = core_->Submit([&](Events events, StepOutput&) {
    if (events.empty()) return;
    WorkerThreads::Thread& mine = core_->thread(0);
    watchdog().CheckAll();
    core_->clock.manual.AdvanceNs(SchedulerPolicy::kCallPatienceNs - 1);
    watchdog().CheckAll();
    EXPECT_EQ(&core_->thread(0), &mine);
  });
  core_->Send(slow, -1);
  core_->Settle();
  // A later step is not taken for the same.
  core_->clock.manual.AdvanceNs(SchedulerPolicy::kCallPatienceNs);
  core_->Send(slow, -1);
  core_->Settle();
  EXPECT_EQ(core_->core->threads.size(), 1u);
  EXPECT_TRUE(log_.empty());
}

TEST_F(Handover, ALoneSuccessorRunsWhenItsPredecessorLasts) {
  // The second is run as the oldest, after three of the newest, and finds the
  // first's successor waiting where no thief sees it.
  const Pid waiting = SubmitTracer("successor");
  const Pid slow = core_->Submit([&](Events events, StepOutput&) {
    if (events.empty()) return;
    core_->queue(0).next = &core_->process(waiting);
    core_->process(waiting).activity.fetch_add(Activity::kReady);
    core_->process(waiting).step_due = true;
    LookUntilTaken();
    core_->RunOne(0);
    trace_.push_back("back");
  });
  trace_.clear();
  core_->Send(slow, -1);
  core_->Settle();
  EXPECT_EQ(core_->process(waiting).steps, 2u);
  EXPECT_THAT(trace_, ElementsAre("back"));
}

TEST_F(Handover, ATypeThatBlocksGivesItsWorkerAwayAtOnce) {
  const Pid other = SubmitTracer("other");
  const actord::testing::Script script{
      .init =
          [&](std::string_view) {
            trace_.push_back(core_->core->threads.size() == 2 ? "away"
                                                              : "init");
            return actord::Status();
          },
      .step =
          [&](Events events, StepOutput& out) {
            if (events.empty()) return;
            core_->Send(other, -1);
            core_->RunUntilSleep(0);
            trace_.push_back("back");
            out.Done();
          },
      .close = [&] { trace_.push_back("close"); }};
  const Pid blocking = core_->Submit(script, "blocking");
  EXPECT_THAT(trace_, ElementsAre("away"));
  core_->Send(blocking, -1);
  core_->Settle();
  EXPECT_THAT(trace_, ElementsAre("away", "other", "back", "close"));
  EXPECT_EQ(core_->core->threads.size(), 2u);
  EXPECT_TRUE(log_.empty());
}

TEST_F(Handover, AYieldIsCarriedOutWithoutAWorker) {
  const Pid slow = core_->Submit([&](Events events, StepOutput& out) {
    if (!events.empty() && events[0].type() == EventType::kCompletion) {
      trace_.push_back("slept");
      return;
    }
    if (events.empty()) return;
    LookUntilTaken();
    out.Yield("sleep", "1000000");
  });
  core_->Send(slow, -1);
  core_->Settle();
  EXPECT_TRUE(trace_.empty());
  core_->clock.manual.AdvanceNs(2'000'000);
  core_->WakeAll();
  core_->Settle();
  EXPECT_THAT(trace_, ElementsAre("slept"));
}

TEST_F(Handover, WithoutAThreadLeftTheStepKeepsItsWorker) {
  core_.reset();
  RuntimeOptions options;
  options.max_blocked_threads = 0;
  StartWith(options);
  const Pid slow = core_->Submit([&](Events events, StepOutput&) {
    if (events.empty()) return;
    WorkerThreads::Thread& mine = core_->thread(0);
    LookUntilTaken();
    EXPECT_EQ(&core_->thread(0), &mine);
    trace_.push_back("kept");
  });
  core_->Send(slow, -1);
  core_->Settle();
  EXPECT_THAT(trace_, ElementsAre("kept"));
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_THAT(log_[0], HasSubstr("no thread is left"));
}

TEST_F(Handover, TheWatchdogLooksLessAndLessAndRestsWhenAllSleep) {
  uint64_t interval = SchedulerPolicy::kShortestCheckNs;
  const auto look = [&] { return watchdog().CheckAll(); };
  const Pid busy = core_->Submit([&](Events events, StepOutput&) {
    if (events.empty()) return;
    // No worker sleeps.
    for (int i = 0; i < 20; ++i) {
      interval = std::min(2 * interval, SchedulerPolicy::kLongestCheckNs);
      EXPECT_EQ(look(), interval);
    }
  });
  core_->Send(busy, -1);
  core_->Settle();
  EXPECT_EQ(interval, SchedulerPolicy::kLongestCheckNs);
  EXPECT_EQ(look(), Parker::kForever);
  // A worker that wakes sets it going again.
  watchdog().WorkerWoke();
  EXPECT_EQ(look(), 2 * SchedulerPolicy::kAfterRestNs);
}

TEST_F(Handover, TheWatchdogsRestEndsWhenAResultIsTooOldAndThenGoesOn) {
  constexpr uint64_t kTtlNs = 300'000'000'000;  // the default
  core_->Submit([](Events, StepOutput& out) { out.Done("result"); });
  core_->Settle();
  EXPECT_EQ(LetRest(), kTtlNs);
  const Results& results = core_->core->results;
  core_->clock.manual.AdvanceNs(kTtlNs - 1);
  EXPECT_EQ(watchdog().CheckAfterPause(), SchedulerPolicy::kLongestCheckNs)
      << "the sleep may have ended too early";
  EXPECT_EQ(results.kept(), 1u);
  core_->clock.manual.AdvanceNs(1);
  EXPECT_EQ(watchdog().CheckAfterPause(), Parker::kForever)
      << "it goes on resting";
  EXPECT_EQ(results.kept(), 0u);
  // While it looks around anyway, it looks at results, too.
  core_->Submit([](Events, StepOutput& out) { out.Done("result"); });
  core_->Settle();
  watchdog().WorkerWoke();
  core_->clock.manual.AdvanceNs(kTtlNs);
  watchdog().CheckAll();
  EXPECT_EQ(results.kept(), 0u);
}

TEST_F(Handover, AShorterTimeOfResultsEndsTheWatchdogsRest) {
  core_->Submit([](Events, StepOutput& out) { out.Done("result"); });
  core_->Settle();
  LetRest();
  Limits limits = core_->core->limits.Get();
  limits.result_ttl = absl::Seconds(1);
  ASSERT_TRUE(core_->core->SetLimits(limits).ok());
  EXPECT_EQ(watchdog().CheckAfterPause(), 2 * SchedulerPolicy::kAfterRestNs);
  EXPECT_EQ(LetRest(), 1'000'000'000u);
}

// A thread without a worker wakes none.
TEST_F(Handover, TheFirstResultThatIsKeptEndsTheWatchdogsRest) {
  core_->Settle();
  ASSERT_EQ(LetRest(), Parker::kForever);
  Outcome outcome;
  core_->core->results.Put({1, 7, 1000, 1}, std::move(outcome), /*keep=*/true,
                           [](const Outcome&) {});
  EXPECT_EQ(watchdog().CheckAfterPause(), 2 * SchedulerPolicy::kAfterRestNs);
}

}  // namespace
}  // namespace actord::runtime
