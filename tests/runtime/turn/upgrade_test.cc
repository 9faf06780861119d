// Processes that go on in a new version of their type: what stays, and what it
// takes. Workers run by hand.
#include "runtime/process/upgrading.h"
#include "tests/runtime/turn/versions_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Upgrade = VersionsTest;

TEST_F(Upgrade, AnIdleProcessGoesOnInTheNewVersionAndTakesAStepAtOnce) {
  const Pid pid = BeginVersioned("a");
  EXPECT_THAT(Steps(), ElementsAre("v1 a"));
  const auto type = Load<Versioned<2>>("2");
  ASSERT_TRUE(type.ok());
  EXPECT_EQ(Tell(*type), 1u);
  EXPECT_THAT(Steps(), ElementsAre("v2 a"));
  EXPECT_EQ(VersionOf(pid), "2");
  EXPECT_EQ(Versioned<1>::script.closes, 1);
  EXPECT_EQ(Versioned<1>::script.destroyed, 1);
  EXPECT_EQ(Upgraded(), 1u);
  EXPECT_EQ((*type)->upgraded, 1u);
  EXPECT_EQ(Declined(), 0u);
  ExpectNoYields(pid);
  // Nothing is left to tell, and nothing happens again.
  EXPECT_EQ(Tell(*type), 0u);
  EXPECT_THAT(Steps(), IsEmpty());
}

TEST_F(Upgrade, NewProcessesHaveTheNewVersionAlsoChildrenOfAnOldOne) {
  const Pid parent = BeginVersioned("a");
  const auto spawn = [this](const char* state) {
    return [this, state](StepOutput& out) {
      pids_[state] = FromAbi(out.Spawn("versioned", "run", state));
    };
  };
  next_act_ = spawn("b");
  core_->Send(parent, -1);
  core_->Settle();
  EXPECT_EQ(VersionOf(pids_["b"]), "1");
  ASSERT_TRUE(Load<Versioned<2>>("2", /*upgrade_processes=*/false).ok());
  next_act_ = spawn("c");
  core_->Send(parent, -1);
  core_->Settle();
  EXPECT_EQ(VersionOf(pids_["c"]), "2");
  EXPECT_EQ(VersionOf(BeginVersioned("d")), "2");
  // Live processes must be left alone.
  EXPECT_EQ(VersionOf(parent), "1");
}

TEST_F(Upgrade, MailboxComesToTheNewVersionInItsOrder) {
  const Pid pid = BeginVersioned("a");
  Steps();
  for (const char* topic : {"1", "2", "3"}) core_->Send(pid, -1, topic);
  ASSERT_TRUE(Load<Versioned<2>>("2").ok());
  EXPECT_THAT(Steps(), ElementsAre("v2 a m:1: m:2: m:3:"));
}

TEST_F(Upgrade, KeepsNameGroupLinksMonitorsAndOwedCalls) {
  const Pid pid = BeginVersioned("a");
  Begin("linked", "trapping");
  Begin("watched");
  Begin("caller");
  Pid holder;
  ASSERT_TRUE(core().names.Register("name", pid, holder).ok());
  ASSERT_TRUE(core().groups.Join("group", pid).ok());
  Tag monitor = 0;
  next_act_ = [&](StepOutput& out) {
    out.Link(PidOf("linked"));
    monitor = out.Monitor(PidOf("watched"));
  };
  core_->Send(pid, -1);
  Do("caller", [&](StepOutput& out) { out.Call(ToAbi(pid), "ask"); });
  CallId call = 0;
  Versioned<1>::script.step = [&](std::string&, Events events, StepOutput&) {
    for (const Event event : events) call = event.call();
  };
  Do("caller", [&](StepOutput& out) { out.Call(ToAbi(pid), "ask"); });
  ASSERT_NE(call, 0u);
  LoadAndRun<Versioned<2>>("2");
  EXPECT_EQ(VersionOf(pid), "2");
  EXPECT_EQ(*core().names.Find(Owner::kNobody, "name"), pid);
  EXPECT_THAT(core().groups.Members(Owner::kNobody, "group"), ElementsAre(pid));
  // The answer to what the old version was asked.
  next_act_ = [&](StepOutput& out) { out.Reply(call, "late, but well"); };
  core_->Send(pid, -1);
  EXPECT_THAT(Told("caller"), ElementsAre("c:0:late, but well"));
  // The monitor of the old version fires for the new one.
  Steps();
  Terminate("watched");
  ASSERT_EQ(trace_.size(), 1u);
  EXPECT_THAT(Steps()[0],
              HasSubstr("v2 a x:watched:" + std::to_string(monitor) + ":"));
  // And so does the link, the other way round.
  ASSERT_TRUE(core()
                  .delivery
                  .Control(Owner::kAny, pid, kEventTerminate, "by the test",
                           core().lane)
                  .ok());
  EXPECT_EQ(Told("linked").size(), 1u);
  EXPECT_EQ(core().names.Find(Owner::kNobody, "name").ok(), false);
}

TEST_F(Upgrade, UnansweredCallFailsWhenTheNewVersionEnds) {
  const Pid pid = BeginVersioned("a");
  Begin("caller");
  Do("caller", [&](StepOutput& out) { out.Call(ToAbi(pid), "ask"); });
  LoadAndRun<Versioned<2>>("2");
  EXPECT_THAT(Told("caller"), IsEmpty());
  next_act_ = [](StepOutput& out) { out.Done(); };
  core_->Send(pid, -1);
  ASSERT_EQ(Told("caller").size(), 1u);
}

TEST_F(Upgrade, RestoreIsToldMethodVersionAndState) {
  const Pid pid = BeginVersioned("a");
  Versioned<1>::script.snapshot = [](const std::string&) {
    return SnapshotResult("bytes", "text/x");
  };
  Versioned<2>::script.restore = [&](std::string& state,
                                     const RestoreFrom& from,
                                     RestoreContext& context) {
    EXPECT_EQ(from.snapshot.bytes, "bytes");
    EXPECT_EQ(from.snapshot.content_type, "text/x");
    EXPECT_EQ(from.version, "1");
    EXPECT_EQ(FromAbi(context.self()), pid);
    EXPECT_FALSE(context.AdoptYield(1));
    state = "restored";
    return actord::Status();
  };
  Steps();
  LoadAndRun<Versioned<2>>("2");
  EXPECT_THAT(Steps(), ElementsAre("v2 restored"));
}

TEST_F(Upgrade, ProcessThatSaysNotNowIsAskedAgainAfterItsNextStep) {
  const Pid pid = BeginVersioned("a");
  int asked = 0;
  bool busy = true;
  Versioned<1>::script.snapshot = [&](const std::string& state) {
    ++asked;
    return busy ? SnapshotResult::NotNow() : SnapshotResult(state);
  };
  const ProcessType* const type = LoadAndRun<Versioned<2>>("2");
  EXPECT_EQ(asked, 1);
  // A turn without a step.
  Tell(type);
  core_->Settle();
  EXPECT_EQ(asked, 1);
  core_->Send(pid, -1);
  core_->Settle();
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(VersionOf(pid), "1");
  Steps();
  // Now the step ends what it was busy with: it is upgraded without another
  // event.
  next_act_ = [&](StepOutput&) { busy = false; };
  core_->Send(pid, -1, "m");
  EXPECT_THAT(Steps(), ElementsAre("v1 a m:m:", "v2 a"));
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(Declined(), 0u);
  ExpectNoYields(pid);
}

TEST_F(Upgrade, ABlockedProcessIsUpgradedAndItsMessagesStayWhereTheyAre) {
  const Pid pid = BeginVersioned("a");
  Tag tag = 0;
  next_act_ = [&](StepOutput& out) {
    tag = out.Yield("ext", "slow");
    out.Block();
  };
  core_->Send(pid, -1);
  core_->Settle();
  core_->Send(pid, -1, "later");
  Steps();
  Versioned<2>::script.restore = [&](std::string&, auto&,
                                     RestoreContext& context) {
    EXPECT_TRUE(context.AdoptYield(tag));
    return actord::Status();
  };
  next_act_ = [](StepOutput& out) { out.Block(); };
  LoadAndRun<Versioned<2>>("2");
  EXPECT_THAT(Steps(), ElementsAre("v2 "));
  EXPECT_EQ(core().tasks.Complete({{pid, tag}, 0}, {{}, {"well", ""}}),
            CompleteAnswer::kAccepted);
  EXPECT_THAT(Steps(), ElementsAre("v2  c:0:well", "v2  m:later:"));
}

TEST_F(Upgrade, ABlockedProcessThatBlocksNoMoreGetsItsMessages) {
  const Pid pid = BeginVersioned("a");
  next_act_ = [&](StepOutput& out) {
    out.Yield("ext");
    out.Block();
  };
  core_->Send(pid, -1);
  core_->Settle();
  core_->Send(pid, -1, "later");
  Steps();
  LoadAndRun<Versioned<2>>("2");
  EXPECT_THAT(Steps(), ElementsAre("v2 a", "v2 a m:later:"));
  ExpectNoYields(pid);
}

TEST_F(Upgrade, AnUpgradeAfterAStepThatBlockedLeavesItBlocked) {
  const Pid pid = BeginVersioned("a");
  bool busy = true;
  Versioned<1>::script.snapshot = [&](const std::string& state) {
    return busy ? SnapshotResult::NotNow() : SnapshotResult(state);
  };
  LoadAndRun<Versioned<2>>("2");
  next_act_ = [&](StepOutput& out) {
    busy = false;
    out.Yield("ext");
    out.Block();
  };
  core_->Send(pid, -1, "1");
  core_->Wake(0);
  core_->RunOne(0);
  core_->Send(pid, -1, "2");
  EXPECT_THAT(Steps(), ElementsAre("v1 a", "v1 a m:1:", "v2 a", "v2 a m:2:"));
}

TEST_F(Upgrade, ProcessThatWasAskedToEndStaysAsItIs) {
  Begin("unused");
  const Pid pid = core_->Submit(actord::testing::Script{}, "cancellable");
  // The type of the test above has no versions; this one is replaced whole.
  const ProcessType& old = TypeOf(pid);
  ASSERT_TRUE(
      core()
          .delivery
          .Control(Owner::kAny, pid, ACTORD_EVENT_CANCEL, "please", core().lane)
          .ok());
  core_->Settle();
  EXPECT_TRUE(core_->process(pid).cancel_requested);
  const auto type = Load<Versioned<2>>("2");
  old.upgrade_to = *type;
  Tell(*type);
  core_->Settle();
  EXPECT_EQ(&TypeOf(pid), &old);
  EXPECT_EQ(Declined(), 1u);
  EXPECT_THAT(log_, IsEmpty());
  old.upgrade_to = nullptr;
}

TEST_F(Upgrade, AMethodIsFoundByItsName) {
  const Pid pid = BeginVersioned("a");
  ASSERT_EQ(core_->process(pid).method, 0);
  LoadAndRun<OtherMethods>("4");
  EXPECT_EQ(VersionOf(pid), "4");
  EXPECT_EQ(core_->process(pid).method, 1);
  LoadAndRun<NoMethods>("5");
  EXPECT_EQ(VersionOf(pid), "4");
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_THAT(log_[0], HasSubstr("it has no method run"));
}

TEST_F(Upgrade, NewestOfSeveralVersionsIsRestoredAtOnce) {
  const Pid pid = BeginVersioned("a");
  Steps();
  ASSERT_TRUE(Load<Versioned<2>>("2").ok());
  Versioned<3>::script.restore = [](std::string& state, const RestoreFrom& from,
                                    auto&) {
    state = "from " + std::string(from.version);
    return actord::Status();
  };
  LoadAndRun<Versioned<3>>("3");
  EXPECT_THAT(Steps(), ElementsAre("v3 from 1"));
  EXPECT_EQ(VersionOf(pid), "3");
  EXPECT_EQ(Upgraded(), 1u);
}

TEST_F(Upgrade, GoesBackToAnOlderVersion) {
  const Pid pid = BeginVersioned("a");
  LoadAndRun<Versioned<2>>("2");
  LoadAndRun<Versioned<1>>("1");
  EXPECT_EQ(VersionOf(pid), "1");
  EXPECT_THAT(Steps(), ElementsAre("v1 a", "v2 a", "v1 a"));
  EXPECT_EQ(Upgraded(), 2u);
}

TEST_F(Upgrade, UpgradeBackToTheSameCodeAsksNobody) {
  const Pid pid = BeginVersioned("a");
  Versioned<2>::script.restore = [](auto&, auto&, auto&) {
    return actord::Status(actord::Code::kInvalidArgument, "no");
  };
  const ProcessType* const second = LoadAndRun<Versioned<2>>("2");
  EXPECT_EQ(second->declined_live, 1u);
  Versioned<1>::script.snapshot = [](const std::string&) -> SnapshotResult {
    ADD_FAILURE() << "asked";
    return SnapshotResult::NotNow();
  };
  Steps();
  const ProcessType* const first = LoadAndRun<Versioned<1>>("1");
  EXPECT_EQ(&TypeOf(pid), first);
  EXPECT_THAT(Steps(), IsEmpty());
  EXPECT_EQ(second->declined_live, 0u);
  EXPECT_EQ(core_->process(pid).upgrading, nullptr);
}

TEST_F(Upgrade, WithoutSnapshotOrRestoreAProcessEndsAsItBegan) {
  // The type as a plugin of the first version of the ABI describes it.
  static actord_process_type old = actord::kProcessType<Versioned<2>>;
  old.struct_size = offsetof(actord_process_type, snapshot);
  const auto load = [&](const char* version) {
    return core_->catalog
        .Add({.plugin = "versions",
              .version = version,
              .process_types = {&old},
              .replace = true,
              .upgrade_processes = true})
        .value()
        .front();
  };
  const Pid first = BeginVersioned("a");
  const ProcessType* const type = load("2");
  EXPECT_EQ(type->snapshot, nullptr);
  EXPECT_EQ(type->restore, nullptr);
  EXPECT_EQ(Tell(type), 0u);
  const Pid second = BeginVersioned("b");
  EXPECT_EQ(VersionOf(second), "2");
  LoadAndRun<Versioned<3>>("3");
  EXPECT_EQ(VersionOf(first), "3");
  EXPECT_EQ(VersionOf(second), "2");
  core_->Send(second, -1, "m");
  EXPECT_THAT(Steps(), ElementsAre("v1 a", "v2 b", "v3 a", "v2 b m:m:"));
  EXPECT_EQ(Declined(), 0u);
}

TEST_F(Upgrade, MoreThanOnePieceReachesAll) {
  constexpr uint64_t kMany = Runtime::kMaxTold + 10;
  std::vector<Pid> pids;
  for (uint64_t i = 0; i < kMany; ++i) {
    pids.push_back(BeginVersioned(std::to_string(i)));
  }
  const auto type = Load<Versioned<2>>("2");
  const Runtime::UpgradePiece first = core().TellOfUpgrade({*type}, 0);
  EXPECT_EQ(first.told, Runtime::kMaxTold);
  EXPECT_NE(first.next_slot, 0u);
  const Runtime::UpgradePiece second =
      core().TellOfUpgrade({*type}, first.next_slot);
  EXPECT_EQ(second.told, 10u);
  EXPECT_EQ(second.next_slot, 0u);
  core_->Settle();
  for (const Pid& pid : pids) ASSERT_EQ(VersionOf(pid), "2");
}

}  // namespace
}  // namespace actord::runtime
