// Processes that leave the memory while they wait for a message, and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/passivator.h"
#include "runtime/process/errors.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

class Dormant : public ::testing::Test {
 protected:
  Dormant() { EXPECT_EQ(world_.Start(), absl::OkStatus()); }

  // Lets the store catch up, time pass, and the passivator look.
  void Wait(uint64_t seconds) {
    for (uint64_t passed = 0; passed < seconds; passed += 60) {
      world_.Settle();
      EXPECT_EQ(world_.store->CatchUp(), absl::OkStatus());
      world_.runtime().passivator->LookIfDue();
      world_.Elapse(60 * kSecond);
    }
  }
  uint64_t DormantNow() { return world_.runtime().Stats().processes_dormant; }
  bool IsDormant(const Pid& pid) {
    return world_.runtime().processes.IsDormant(pid);
  }

  DurableWorld world_;
};

TEST_F(Dormant, IdleProcessLeavesTheMemoryAndComesBackWithAMessage) {
  const Pid pid = world_.NewAccount(5, "saver");
  world_.Tell(pid, "add", "7");
  Wait(300);
  EXPECT_FALSE(IsDormant(pid));
  Wait(600);
  EXPECT_TRUE(IsDormant(pid));
  const uint64_t live = world_.runtime().Stats().processes_live;
  world_.Tell(pid, "add", "1");
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_EQ(world_.BalanceOf(pid), "13");
  EXPECT_EQ(world_.runtime().Stats().processes_live, live);
  EXPECT_EQ(DormantNow(), 0u);
}

TEST_F(Dormant, StartWithoutPassivationBringsIdleProcessesIntoMemory) {
  const Pid pid = world_.NewAccount(5);
  world_.Stop();
  RuntimeOptions options;
  options.durable.passivate_after = absl::InfiniteDuration();
  ASSERT_EQ(world_.Start(options), absl::OkStatus());
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_EQ(world_.BalanceOf(pid), "5");
}

TEST_F(Dormant, ComesBackIntoASlotWithALateEvent) {
  const Pid pid = world_.NewAccount(5);
  const Pid gone = world_.NewPuppet("volatile", /*durable=*/false);
  world_.Tell(gone, "done");
  Wait(1200);
  ASSERT_TRUE(IsDormant(pid));
  // Its sender had found the process before the process ended.
  ProcessTable& processes = world_.runtime().processes;
  for (uint32_t slot = 0; slot < processes.SlotsInUse(); ++slot) {
    Envelope* const late =
        world_.runtime().lane.NewEnvelope(kEventTerminate, {}, {});
    late->generation = processes.At(slot).generation - 1;
    EXPECT_FALSE(processes.At(slot).PostUrgent(late));
  }
  world_.Tell(pid, "add", "7");
  EXPECT_EQ(world_.BalanceOf(pid), "12");
}

TEST_F(Dormant, RecordingIsRefusedWithoutBringingTheProcessBack) {
  const Pid pid = world_.NewAccount(5);
  Wait(1200);
  ASSERT_TRUE(IsDormant(pid));
  const auto begun = world_.runtime().recordings.Begin(pid, Owner::kAny);
  EXPECT_EQ(ReasonOf(begun.status()), reason::kInvalidField);
  EXPECT_TRUE(IsDormant(pid));
}

TEST_F(Dormant, BusyProcessStays) {
  const Pid pid = world_.NewAccount(5);
  for (int i = 0; i < 30; ++i) {
    world_.Tell(pid, "add", "1");
    Wait(120);
    ASSERT_FALSE(IsDormant(pid));
  }
}

TEST_F(Dormant, SleepsAndWakesAgainAndAgain) {
  const Pid pid = world_.NewAccount(0);
  for (int i = 1; i <= 5; ++i) {
    Wait(1200);
    ASSERT_TRUE(IsDormant(pid)) << i;
    world_.Tell(pid, "add", "1");
    ASSERT_EQ(world_.BalanceOf(pid), std::to_string(i));
  }
  Wait(1200);
  world_.Restart(/*keep_cache=*/false);
  EXPECT_TRUE(IsDormant(pid));
  EXPECT_EQ(world_.BalanceOf(pid), "5");
}

TEST_F(Dormant, MessageThatComesDuringTheOrderKeepsTheProcess) {
  const Pid pid = world_.NewAccount(5);
  Wait(540);
  ASSERT_FALSE(IsDormant(pid));
  // The order and the message wait for the same turn.
  world_.Pass(600 * kSecond);
  world_.runtime().passivator->LookIfDue();
  EXPECT_TRUE(world_.Send(pid, "add", "1").status.ok());
  world_.Settle();
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_EQ(world_.BalanceOf(pid), "6");
}

TEST_F(Dormant, StepThatTheStoreDoesNotHaveKeepsTheProcess) {
  const Pid pid = world_.NewAccount(5);
  world_.Tell(pid, "add", "1");
  for (int i = 0; i < 30; ++i) {
    world_.runtime().passivator->LookIfDue();
    world_.Elapse(60 * kSecond);
  }
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_EQ(world_.store->CatchUp(), absl::OkStatus());
  world_.runtime().passivator->LookIfDue();
  world_.Settle();
  EXPECT_TRUE(IsDormant(pid));
  EXPECT_EQ(world_.BalanceOf(pid), "6");
}

TEST_F(Dormant, CallKeepsTheProcessAsLongAsItsCallerWaits) {
  const Pid pid = world_.NewPuppet();
  const Calls::Id waits = world_.runtime().calls.Begin(
      Owner::kAny, pid, {"hold", {}}, [](const absl::StatusOr<Payload>&) {});
  const Pid caller = world_.NewPuppet("volatile", /*durable=*/false);
  world_.Tell(caller, "call", FormatPid(pid) + " hold");
  Wait(1200);
  EXPECT_FALSE(IsDormant(pid));
  world_.Tell(caller, "done");
  Wait(1200);
  EXPECT_FALSE(IsDormant(pid));
  EXPECT_TRUE(world_.runtime().calls.Cancel(waits));
  Wait(1200);
  EXPECT_TRUE(IsDormant(pid));
  // The answer comes too late, and is counted.
  world_.Tell(pid, "answer", "late");
  EXPECT_EQ(world_.runtime().Stats().late_replies, 1u);
  EXPECT_EQ(world_.NotesOf(pid), "");
}

TEST_F(Dormant, ProcessThatRefusesIsOrderedAgainWhenItWasIdleOnceMore) {
  const Pid pid = world_.NewPuppet();
  world_.runtime().calls.Begin(Owner::kAny, pid, {"hold", {}},
                               [](const absl::StatusOr<Payload>&) {});
  const FoundProcess process = world_.runtime().processes.FindAwake(pid);
  int orders = 0;
  for (int i = 0; i < 60; ++i) {
    world_.Settle();
    EXPECT_EQ(world_.store->CatchUp(), absl::OkStatus());
    world_.runtime().passivator->LookIfDue();
    orders += Activity::Urgent(process->activity.load()) != 0 ? 1 : 0;
    world_.Elapse(60 * kSecond);
  }
  EXPECT_FALSE(IsDormant(pid));
  // In an hour, each 10 minutes.
  EXPECT_THAT(orders, ::testing::AllOf(::testing::Ge(4), ::testing::Le(6)));
}

TEST_F(Dormant, NobodyComesBackWhenTheProcessesAreClosed) {
  const Pid pid = world_.NewAccount(5);
  Wait(1200);
  ASSERT_TRUE(IsDormant(pid));
  // As a stop does when its threads have ended. Clients still call.
  world_.runtime().CloseDurable();
  for (const Owner by : {Owner::kAny, Owner::kNobody, kAlice}) {
    const absl::Status status =
        world_.runtime()
            .SendFromOutside(by, pid, {"add", {"1", ""}}, nullptr)
            .status;
    EXPECT_EQ(ReasonOf(status), reason::kStopped) << status;
    EXPECT_TRUE(absl::IsUnavailable(status));
  }
  EXPECT_TRUE(IsDormant(pid));
  EXPECT_EQ(world_.Ask(pid)->value_or("no answer"),
            "process " + FormatPid(pid) +
                " cannot be read from the store, because the daemon ends");
  world_.Stop();
  ASSERT_EQ(world_.Start(), absl::OkStatus());
  EXPECT_EQ(world_.BalanceOf(pid), "5");
}

TEST_F(Dormant, ProcessOfNobodyLearnsNothingOfOneWithAnOwner) {
  SubmitRequest request{"account", "", {"5", ""}, {}};
  request.durable = true;
  request.owner = Owner{1};
  Pid pid;
  world_.runtime().admission.Submit(
      request, Pid{}, /*keep_result=*/true,
      [&pid](absl::StatusOr<Pid> made) { pid = made.value_or(Pid{}); });
  world_.Settle();
  const auto refusal = [&] {
    return ReasonOf(
        world_.runtime()
            .SendFromOutside(Owner::kNobody, pid, {"add", {"1", ""}}, nullptr)
            .status);
  };
  const std::string awake = refusal();
  Wait(1200);
  ASSERT_TRUE(IsDormant(pid));
  EXPECT_EQ(refusal(), awake);
  EXPECT_FALSE(
      world_.runtime().processes.Want(pid, Owner::kNobody, Wanted::kAwaited));
  EXPECT_TRUE(IsDormant(pid));
}

TEST_F(Dormant, ProcessThatHasNotBeenToldOfAnEndIsInMemoryAfterAStart) {
  const Pid watcher = world_.NewPuppet();
  const Pid watched = world_.NewPuppet();
  const Pid idle = world_.NewPuppet();
  world_.Tell(watcher, "monitor", FormatPid(watched));
  EXPECT_TRUE(world_.runtime()
                  .Control(Owner::kAny, watched, kEventTerminate, "enough")
                  .status.ok());
  // The record of the end is durable, and the watcher has no turn.
  world_.Turns(1);
  while (world_.store->Work()) {
  }
  world_.Crash(/*keep_cache=*/true);
  ASSERT_EQ(world_.Start(), absl::OkStatus());
  EXPECT_TRUE(IsDormant(idle));
  const FoundProcess process = world_.runtime().processes.FindAwake(watcher);
  ASSERT_TRUE(process);
  EXPECT_NE(process->wanted.load(), Wanted::kAll) << "it was dormant before";
  world_.Settle();
  EXPECT_EQ(world_.NotesOf(watcher), "x1:6");
}

TEST_F(Dormant, KeepsItsNameAndIsFoundByIt) {
  const Pid pid = world_.NewAccount(5, "saver");
  Wait(1200);
  ASSERT_TRUE(IsDormant(pid));
  const auto found = world_.runtime().names.Find(Owner::kNobody, "saver");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, pid);
  // The name is taken, and the look-up has woken nobody.
  const auto second = world_.Submit("1", "saver");
  world_.Settle();
  ASSERT_TRUE(second->has_value());
  EXPECT_FALSE((*second)->ok());
  EXPECT_TRUE(IsDormant(pid));
}

TEST_F(Dormant, CancelAndTerminateReachIt) {
  const Pid cancelled = world_.NewAccount(5);
  const Pid terminated = world_.NewAccount(6);
  const auto outcome = world_.Await(terminated);
  Wait(1200);
  ASSERT_TRUE(IsDormant(cancelled));
  ASSERT_TRUE(IsDormant(terminated));
  EXPECT_TRUE(world_.runtime()
                  .Control(Owner::kAny, cancelled, ACTORD_EVENT_CANCEL, "")
                  .status.ok());
  EXPECT_TRUE(world_.runtime()
                  .Control(Owner::kAny, terminated, kEventTerminate, "enough")
                  .status.ok());
  world_.Settle();
  EXPECT_TRUE(world_.runtime().processes.HasEnded(cancelled, Owner::kAny));
  EXPECT_TRUE(world_.runtime().processes.HasEnded(terminated, Owner::kAny));
  // Somebody waited for the end since before it fell asleep.
  ASSERT_TRUE(outcome->has_value());
  ASSERT_TRUE((*outcome)->ok());
  EXPECT_EQ((**outcome)->message, "enough");
  EXPECT_EQ(world_.runtime().Stats().processes_live, 0u);
}

TEST_F(Dormant, EndOfAWatchedProcessWakesTheWatcher) {
  const Pid watcher = world_.NewPuppet();
  const Pid watched = world_.NewPuppet();
  world_.Tell(watcher, "monitor", FormatPid(watched));
  const std::string before = world_.NotesOf(watcher);
  Wait(1200);
  ASSERT_TRUE(IsDormant(watcher));
  ASSERT_TRUE(IsDormant(watched));
  world_.Restart();
  EXPECT_TRUE(IsDormant(watcher)) << "the start has woken it";
  EXPECT_TRUE(IsDormant(watched));
  EXPECT_TRUE(world_.runtime()
                  .Control(Owner::kAny, watched, kEventTerminate, "enough")
                  .status.ok());
  world_.Settle();
  EXPECT_FALSE(IsDormant(watcher));
  EXPECT_NE(world_.NotesOf(watcher), before);
}

TEST_F(Dormant, StrangerNeitherWakesAProcessNorLearnsOfIt) {
  SubmitRequest request{"account", "", {"5", ""}, {}};
  request.durable = true;
  request.owner = kAlice;
  Pid pid;
  world_.runtime().admission.Submit(
      request, Pid{}, /*keep_result=*/true,
      [&pid](absl::StatusOr<Pid> made) { pid = made.value_or(Pid{}); });
  world_.Settle();
  Wait(1200);
  ASSERT_TRUE(IsDormant(pid));
  const auto send = [&](Owner by) {
    return world_.runtime()
        .SendFromOutside(by, pid, {"add", {"1", ""}}, nullptr)
        .status;
  };
  EXPECT_EQ(ReasonOf(send(kBob)), reason::kProcessEnded);
  EXPECT_EQ(ReasonOf(world_.runtime().Describe(pid, kBob).status()),
            reason::kProcessEnded);
  EXPECT_TRUE(IsDormant(pid));
  EXPECT_TRUE(world_.runtime().Describe(pid, kAlice).ok());
  EXPECT_TRUE(send(kAlice).ok());
  EXPECT_FALSE(IsDormant(pid));
}

TEST_F(Dormant, ListsShowDormantProcessesAndWakeNone) {
  const Pid awake = world_.NewAccount(1);
  const Pid asleep = world_.NewAccount(2);
  for (int i = 0; i < 20; ++i) {
    world_.Tell(awake, "add", "1");
    Wait(60);
  }
  ASSERT_TRUE(IsDormant(asleep));
  ASSERT_FALSE(IsDormant(awake));
  ProcessFilter filter;
  std::vector<Pid> listed;
  uint32_t place = 0;
  do {
    const ProcessPage page = world_.runtime().ListProcesses(filter, place, 1);
    for (const ProcessInfo& info : page.processes) listed.push_back(info.pid);
    place = page.next_slot;
  } while (place != 0);
  EXPECT_THAT(listed, ::testing::UnorderedElementsAre(awake, asleep));
  filter.state = ProcessState::kDormant;
  const ProcessPage page = world_.runtime().ListProcesses(filter, 0, 10);
  ASSERT_EQ(page.processes.size(), 1u);
  EXPECT_EQ(page.processes[0].pid, asleep);
  EXPECT_EQ(page.processes[0].process_type, "account");
  const auto info = world_.runtime().Describe(asleep, Owner::kAny);
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->state, ProcessState::kDormant);
  EXPECT_EQ(world_.runtime().TypeNameOf(asleep, Owner::kAny).value(),
            "account");
  EXPECT_TRUE(IsDormant(asleep));
}

}  // namespace
}  // namespace actord::runtime
