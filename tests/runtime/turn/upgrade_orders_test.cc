// Processes that are asked to end in the turn that would upgrade them, and
// turns of upgrades that leave no room for a step. Workers run by hand.
#include <string>

#include "runtime/process/activity.h"
#include "tests/runtime/turn/versions_fixture.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using UpgradeOrders = VersionsTest;

struct Order {
  const char* name;
  uint16_t event;
  EndKind ends_as;
};

class OfOrder : public VersionsTest,
                public ::testing::WithParamInterface<Order> {};

TEST_P(OfOrder, OrderIsCarriedOutByTheOldVersion) {
  const Pid pid = BeginVersioned("a");
  Steps();
  // The order lies behind an event of the upgrade, which is no order.
  const auto type = Load<Versioned<2>>("2");
  ASSERT_TRUE(type.ok());
  EXPECT_EQ(Tell(*type), 1u);
  if (GetParam().event == kEventLinkedEnd) {
    core().ties.Link(pid, Pid{}, core().lane, Owner::kAny);
  } else {
    ASSERT_TRUE(core()
                    .delivery
                    .Control(Owner::kAny, pid, GetParam().event, "by the test",
                             core().lane)
                    .ok());
  }
  EXPECT_THAT(Steps(), IsEmpty());
  const auto outcome = OutcomeOf("a");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, GetParam().ends_as);
  EXPECT_EQ(Versioned<1>::script.closes, 1);
  EXPECT_EQ(Versioned<2>::script.closes, 0);
  EXPECT_EQ(Upgraded(), 0u);
  EXPECT_EQ((*type)->declined_live, 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Orders, OfOrder,
    ::testing::Values(Order{"Cancel", ACTORD_EVENT_CANCEL, EndKind::kCancelled},
                      Order{"Terminate", kEventTerminate, EndKind::kTerminated},
                      Order{"LinkedEnd", kEventLinkedEnd, EndKind::kFailed},
                      Order{"LifetimeEnd", kEventLifetimeEnd, EndKind::kLimit}),
    [](const auto& order) { return std::string(order.param.name); });

class Handling : public Versioned<1> {
 public:
  static constexpr bool kHandlesCancel = true;
};

TEST_F(UpgradeOrders, ACancelComesToTheVersionThatLivesWhichThenStays) {
  ASSERT_TRUE(Load<Handling>("1h").ok());
  const Pid pid = BeginVersioned("a");
  Steps();
  const auto type = Load<Versioned<2>>("2");
  ASSERT_TRUE(type.ok());
  ASSERT_TRUE(
      core()
          .delivery
          .Control(Owner::kAny, pid, ACTORD_EVENT_CANCEL, "please", core().lane)
          .ok());
  EXPECT_THAT(Steps(), ElementsAre("v1h a cancel:please"));
  EXPECT_EQ(VersionOf(pid), "1h");
  // Nobody waits for it to come.
  EXPECT_EQ((*type)->declined_live, 1u);
  EXPECT_EQ((*type)->declined, 1u);
  EXPECT_EQ(Upgraded(), 0u);
}

TEST_F(UpgradeOrders, AShutdownDuringTheUpgradeIsNotFollowedByAStep) {
  BeginVersioned("a");
  Steps();
  Versioned<2>::script.restore = [this](auto&, auto&, auto&) {
    core().orders.terminate = true;
    return actord::Status();
  };
  LoadAndRun<Versioned<2>>("2");
  EXPECT_THAT(trace_, IsEmpty());
  EXPECT_EQ(Versioned<2>::script.closes, 1);
  const auto outcome = OutcomeOf("a");
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->kind, EndKind::kTerminated);
}

TEST_F(UpgradeOrders, CalledOffUpgradeIsForgotten) {
  const Pid pid = BeginVersioned("a");
  Versioned<1>::script.snapshot = [](const std::string&) {
    return SnapshotResult::NotNow();
  };
  LoadAndRun<Versioned<2>>("2");
  EXPECT_NE(core_->process(pid).upgrading, nullptr);
  ASSERT_TRUE(Load<Versioned<3>>("3", /*upgrade_processes=*/false).ok());
  core_->Send(pid, -1, "m");
  core_->Settle();
  EXPECT_EQ(VersionOf(pid), "1");
  EXPECT_EQ(core_->process(pid).upgrading, nullptr);
}

TEST_F(UpgradeOrders, ProcessThatDeclinedACalledOffUpgradeIsNotCounted) {
  const Pid pid = BeginVersioned("a");
  Versioned<2>::script.restore = [](auto&, auto&, auto&) {
    return actord::Status(actord::Code::kInvalidArgument, "no");
  };
  const ProcessType* const second = LoadAndRun<Versioned<2>>("2");
  EXPECT_EQ(second->declined_live, 1u);
  ASSERT_TRUE(Load<Versioned<3>>("3", /*upgrade_processes=*/false).ok());
  core_->Send(pid, -1, "m");
  core_->Settle();
  EXPECT_EQ(second->declined_live, 0u);
  EXPECT_EQ(core_->process(pid).upgrading, nullptr);
}

// Dropped events count in the word until the end of the turn, while their
// yields already have room for others.
TEST_F(UpgradeOrders,
       UpgradeThatDropsManyCompletionsTakesItsStepInAnotherTurn) {
  constexpr int kMany = 300;
  const Pid pid = BeginVersioned("a");
  std::vector<Tag> tags;
  next_act_ = [&](StepOutput& out) {
    for (int i = 0; i < kMany; ++i) tags.push_back(out.Yield("ext"));
  };
  core_->Send(pid, -1);
  Steps();
  ASSERT_TRUE(Load<Versioned<2>>("2").ok());
  for (const Tag tag : tags) {
    ASSERT_EQ(core().tasks.Complete({{pid, tag}, 0}, {{}, {"done", ""}}),
              CompleteAnswer::kAccepted);
  }
  uint64_t counted = kMany;
  next_act_ = [&](StepOutput&) {
    counted = Activity::Urgent(core_->process(pid).activity);
  };
  core_->Send(pid, -1, "m");
  EXPECT_THAT(Steps(), ElementsAre("v2 a m:m:"));
  EXPECT_EQ(counted, 0u);
  ExpectNoYields(pid);
}

}  // namespace
}  // namespace actord::runtime
