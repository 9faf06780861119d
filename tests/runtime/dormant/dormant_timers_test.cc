// Processes that leave the memory while they wait for a timer, and come back
// when it is due.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "runtime/passivator.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

class DormantTimers : public ::testing::Test {
 protected:
  static constexpr uint64_t kMs = 1'000'000;
  static constexpr uint64_t kSecond = 1000 * kMs;
  static constexpr uint64_t kMinute = 60 * kSecond;

  DormantTimers() {
    EXPECT_EQ(world_.Start(), absl::OkStatus());
    // The first look of the passivator comes a minute after the start.
    world_.Elapse(2 * kMinute);
  }
  // The store catches up, and the passivator orders the processes that were
  // idle in the last look, too. They have taken no turn afterwards.
  void LookAround() {
    world_.Settle();
    EXPECT_EQ(world_.store->CatchUp(), absl::OkStatus());
    world_.runtime().passivator->LookIfDue();
  }
  // A process that is idle before has left the memory afterwards, if it can.
  // Takes 20 minutes.
  void Idle() {
    for (int minute = 0; minute < 20; ++minute) {
      LookAround();
      world_.Elapse(kMinute);
    }
  }
  Pid NewSleeper(uint64_t minutes) {
    const Pid pid = world_.NewPuppet();
    Yield(pid, minutes);
    return pid;
  }
  void Yield(const Pid& pid, uint64_t minutes) {
    world_.Tell(pid, "yield",
                "timer.sleep {\"duration_ms\":" +
                    std::to_string(minutes * 60'000) + "}");
  }
  bool IsDormant(const Pid& pid) {
    return world_.runtime().processes.IsDormant(pid);
  }
  size_t WakeTimesNow() {
    return world_.runtime().durable->homes().wake_times().size();
  }

  DurableWorld world_;
};

TEST_F(DormantTimers, TimerBringsTheProcessBackOnTimeAndFiresOnce) {
  const Pid pid = NewSleeper(60);
  Idle();
  ASSERT_TRUE(IsDormant(pid));
  EXPECT_EQ(WakeTimesNow(), 1u);
  world_.Elapse(39 * kMinute);
  EXPECT_TRUE(IsDormant(pid)) << "it is back too early";
  world_.Elapse(kMinute + kSecond);
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_EQ(WakeTimesNow(), 0u);
  EXPECT_EQ(world_.NotesOf(pid), "c1=");
  world_.Elapse(180 * kMinute);
  EXPECT_EQ(world_.NotesOf(pid), "c1=");
}

TEST_F(DormantTimers, FirstOfSeveralTimersCounts) {
  const Pid pid = world_.NewPuppet();
  Yield(pid, 300);
  Yield(pid, 60);
  Yield(pid, 120);
  Idle();
  ASSERT_TRUE(IsDormant(pid));
  world_.Elapse(41 * kMinute);
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_EQ(world_.NotesOf(pid), "c2=");
  Idle();
  ASSERT_TRUE(IsDormant(pid));
  world_.Elapse(40 * kMinute);
  EXPECT_EQ(world_.NotesOf(pid), "c2= c3=");
  Idle();
  ASSERT_TRUE(IsDormant(pid));
  world_.Elapse(180 * kMinute);
  EXPECT_EQ(world_.NotesOf(pid), "c2= c3= c1=");
}

TEST_F(DormantTimers, EarlierTimeoutOfATimerCounts) {
  const Pid pid = world_.NewPuppet();
  world_.Tell(pid, "within", "3600000 timer.sleep {\"duration_ms\": 36000000}");
  Idle();
  ASSERT_TRUE(IsDormant(pid));
  world_.Elapse(39 * kMinute);
  EXPECT_TRUE(IsDormant(pid));
  world_.Elapse(2 * kMinute);
  EXPECT_EQ(world_.NotesOf(pid), "c1!4");
}

TEST_F(DormantTimers, MessageBringsItBackAndTheTimerGoesOn) {
  const Pid pid = NewSleeper(60);
  Idle();
  ASSERT_TRUE(IsDormant(pid));
  world_.Tell(pid, "note", "hello");
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_EQ(WakeTimesNow(), 0u);
  // It leaves and comes back again and again, and its timer stays one timer.
  Idle();
  ASSERT_TRUE(IsDormant(pid));
  EXPECT_EQ(WakeTimesNow(), 1u);
  world_.Elapse(19 * kMinute);
  EXPECT_TRUE(IsDormant(pid));
  world_.Elapse(2 * kMinute);
  EXPECT_EQ(world_.NotesOf(pid), "m:hello c1=");
}

// A look-up brings the process back, and may have no event for it.
TEST_F(DormantTimers, TimerGoesOnIfTheProcessCameBackWithoutAnEvent) {
  const Pid pid = NewSleeper(60);
  Idle();
  ASSERT_TRUE(IsDormant(pid));
  EXPECT_TRUE(world_.runtime().processes.Find(pid));
  EXPECT_FALSE(IsDormant(pid));
  world_.Settle();
  world_.Elapse(41 * kMinute);
  EXPECT_EQ(world_.NotesOf(pid), "c1=");
}

TEST_F(DormantTimers, BlockedProcessWaitsForItsTimerAlone) {
  const Pid pid = NewSleeper(60);
  world_.Tell(pid, "block");
  Idle();
  ASSERT_TRUE(IsDormant(pid));
  world_.Tell(pid, "note", "later");
  EXPECT_FALSE(IsDormant(pid));
  // The note waits in the mailbox until the timer fires.
  Idle();
  EXPECT_FALSE(IsDormant(pid));
  world_.Elapse(21 * kMinute);
  EXPECT_EQ(world_.NotesOf(pid), "c1= m:later");
}

TEST_F(DormantTimers, TimerThatIsDueSoonKeepsTheProcess) {
  // The order would come half a second before the timer.
  const Pid pid = world_.NewPuppet();
  world_.Tell(pid, "yield", "timer.sleep {\"duration_ms\":600500}");
  const uint64_t begun_ns = world_.clock.MonotonicNs();
  for (int minute = 0; minute < 10; ++minute) {
    LookAround();
    world_.Elapse(kMinute);
  }
  ASSERT_LT(world_.clock.MonotonicNs() - begun_ns, 600'500 * kMs);
  LookAround();
  world_.Settle();
  EXPECT_FALSE(IsDormant(pid));
  world_.Elapse(kSecond);
  EXPECT_EQ(world_.NotesOf(pid), "c1=");
}

// The order to leave waits until the timer has fired, or is about to.
TEST_F(DormantTimers, LateOrderDoesNotEndATimer) {
  const Pid pid = world_.NewPuppet();
  world_.Tell(pid, "yield", "timer.sleep {\"duration_ms\":602000}");
  for (int minute = 0; minute < 10; ++minute) {
    LookAround();
    world_.Elapse(kMinute);
  }
  // It is ordered to leave two seconds before the timer, and gets its turn one
  // second later.
  LookAround();
  world_.Pass(kSecond + kSecond / 2);
  world_.Settle();
  EXPECT_FALSE(IsDormant(pid));
  world_.Elapse(kSecond);
  EXPECT_EQ(world_.NotesOf(pid), "c1=");
}

// Two timers, of which one has fired when the order to leave is carried out:
// that one fires once, and the other one goes on.
TEST_F(DormantTimers, TimerThatFiresDuringTheOrderFiresOnce) {
  const Pid pid = world_.NewPuppet();
  Yield(pid, 60);
  Yield(pid, 61);
  for (int minute = 0; minute < 10; ++minute) {
    LookAround();
    world_.Elapse(kMinute);
  }
  const FoundProcess process = world_.runtime().processes.FindAwake(pid);
  ASSERT_TRUE(process);
  LookAround();
  ASSERT_NE(Activity::Urgent(process->activity.load()), 0u);
  // The completion is won, and is not in the mailbox yet.
  YieldBroker& broker = world_.runtime().broker;
  const uint32_t slot = process->yields;
  ASSERT_NE(slot, kNoYieldSlot);
  const uint32_t won = broker.EndByTag(*process, 1);
  ASSERT_NE(won, kNoYieldSlot);
  world_.Settle();
  EXPECT_FALSE(IsDormant(pid));
  Lane& lane = world_.runtime().lane;
  Envelope* const completion =
      lane.NewEnvelope(ACTORD_EVENT_COMPLETION, {}, {});
  completion->completion.status = ACTORD_OK;
  completion->completion.tag = 1;
  completion->completion.yield_slot = won;
  struct Run run(Run::Kind::kUrgent, completion, Owner::kAny);
  ASSERT_EQ(world_.runtime().delivery.Post(pid, run, lane), Posted::kDelivered);
  world_.Settle();
  EXPECT_EQ(world_.NotesOf(pid), "c1=");
  world_.Elapse(52 * kMinute);
  EXPECT_EQ(world_.NotesOf(pid), "c1= c2=");
}

TEST_F(DormantTimers, MessageThatComesDuringTheOrderKeepsTheTimer) {
  const Pid pid = NewSleeper(60);
  for (int minute = 0; minute < 10; ++minute) {
    LookAround();
    world_.Elapse(kMinute);
  }
  LookAround();
  EXPECT_TRUE(world_.Send(pid, "note", "hello").status.ok());
  world_.Settle();
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_EQ(WakeTimesNow(), 0u);
  world_.Elapse(51 * kMinute);
  EXPECT_EQ(world_.NotesOf(pid), "m:hello c1=");
}

// The message comes when the turn has found the process idle, just before it
// ends the timers.
TEST_F(DormantTimers, MessageThatComesWhileItsTimersEndKeepsTheTimer) {
  const Pid pid = NewSleeper(60);
  for (int minute = 0; minute < 10; ++minute) {
    LookAround();
    world_.Elapse(kMinute);
  }
  LookAround();
  const FoundProcess process = world_.runtime().processes.FindAwake(pid);
  ASSERT_TRUE(process);
  bool came = false;
  world_.store_clock.hook = [&] {
    if (came || !process->running.load() ||
        process->urgent_taken.head() != nullptr) {
      return;
    }
    came = true;
    EXPECT_TRUE(world_.Send(pid, "note", "hello").status.ok());
  };
  world_.Settle();
  world_.store_clock.hook = nullptr;
  ASSERT_TRUE(came);
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_EQ(WakeTimesNow(), 0u);
  EXPECT_EQ(world_.NotesOf(pid), "m:hello");
  world_.Elapse(51 * kMinute);
  EXPECT_EQ(world_.NotesOf(pid), "m:hello c1=");
}

TEST_F(DormantTimers, OtherYieldsKeepTheProcess) {
  RuntimeOptions options;
  options.external_commands = {"task.*"};
  world_.Restart(/*keep_cache=*/true, options);
  const Pid pid = NewSleeper(600);
  world_.Tell(pid, "yield", "task.wait {}");
  Idle();
  Idle();
  EXPECT_FALSE(IsDormant(pid));
  world_.Tell(pid, "cancel", "2");
  // A step makes it a candidate again.
  Idle();
  EXPECT_TRUE(IsDormant(pid));
}

TEST_F(DormantTimers, CommandOfRemoteWorkersIsNoTimer) {
  RuntimeOptions options;
  options.external_commands = {"timer.*"};
  world_.Restart(/*keep_cache=*/true, options);
  const Pid pid = NewSleeper(60);
  Idle();
  EXPECT_FALSE(IsDormant(pid));
}

TEST_F(DormantTimers, IsDormantAfterAStartUntilTheTimerIsDue) {
  const Pid pid = NewSleeper(60);
  const Pid other = world_.NewPuppet();
  world_.Restart(/*keep_cache=*/false);
  EXPECT_TRUE(IsDormant(pid));
  EXPECT_TRUE(IsDormant(other));
  EXPECT_EQ(WakeTimesNow(), 1u);
  world_.Elapse(59 * kMinute);
  EXPECT_TRUE(IsDormant(pid));
  world_.Elapse(2 * kMinute);
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_EQ(world_.NotesOf(pid), "c1=");
  EXPECT_TRUE(IsDormant(other));
}

TEST_F(DormantTimers, CrashWhileItIsDormantLosesNoTimer) {
  const Pid pid = NewSleeper(60);
  Idle();
  ASSERT_TRUE(IsDormant(pid));
  world_.Crash(/*keep_cache=*/false);
  // The timer is due while no daemon runs.
  world_.Pass(90 * kMinute);
  ASSERT_EQ(world_.Start(), absl::OkStatus());
  world_.Elapse(kSecond);
  EXPECT_EQ(world_.NotesOf(pid), "c1=");
  world_.Restart(/*keep_cache=*/false);
  world_.Elapse(90 * kMinute);
  EXPECT_EQ(world_.NotesOf(pid), "c1=");
}

// After a downtime many timers are due. The processes come back a few at a time
// while the table of processes is full.
TEST_F(DormantTimers, ManyThatAreDueAtOnceComeBackAFewAtATime) {
  constexpr int kSleepers = 200;
  std::vector<Pid> pids;
  for (int i = 0; i < kSleepers; ++i) pids.push_back(NewSleeper(60));
  world_.Crash(/*keep_cache=*/true);
  world_.Pass(90 * kMinute);
  RuntimeOptions options;
  options.max_processes = 10;
  ASSERT_EQ(world_.Start(options), absl::OkStatus());
  const auto awake = [&] {
    return kSleepers -
           static_cast<int>(world_.runtime().durable->homes().dormant());
  };
  EXPECT_EQ(awake(), 0);
  world_.runtime().timed_wakes->LookIfDue();
  EXPECT_EQ(awake(), TimedWakes::kTrickle * 2);
  world_.runtime().timed_wakes->LookIfDue();
  EXPECT_EQ(awake(), TimedWakes::kTrickle * 3);
  world_.Elapse(kSecond);
  EXPECT_EQ(awake(), kSleepers);
  for (const Pid& pid : pids) EXPECT_EQ(world_.NotesOf(pid), "c1=");
}

}  // namespace
}  // namespace actord::runtime
