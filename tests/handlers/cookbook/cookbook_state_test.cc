// Recipes about state and time: counter, timer, upgrade, workflow.
#include "tests/handlers/cookbook/cookbook_fixture.h"

namespace actord::cookbook_test {
namespace {

// CrashEverywhere crashes durable types alone.
TEST(Cookbook, TypesThatHaveToBeDurableAre) {
  EXPECT_EQ(Shelf("counter").type().durability, ACTORD_DURABILITY_IMAGE);
  EXPECT_EQ(Shelf("workflow").type().durability, ACTORD_DURABILITY_REPLAY);
}

TEST(Cookbook, CounterSurvivesACrashAfterEachStep) {
  ForEachSeed(50, [](uint64_t seed) {
    Kitchen harness("counter", seed);
    harness.CrashEverywhere();
    const Pid visits = harness.Submit("visits");
    for (int i = 0; i < 3; ++i) {
      harness.Deliver(visits, "visit");
      harness.Run();
    }
    EXPECT_EQ(harness.Call(visits, "visits").value().bytes, "3");
  });
}

TEST(Cookbook, TimerRepeatsUntilItIsCancelled) {
  ForEachSeed(50, [](uint64_t seed) {
    Kitchen harness("timer", seed);
    const Pid parking = harness.Submit("parking");
    harness.Advance(5min + 30s);
    harness.Deliver(parking, "pause");
    harness.Advance(1h);
    harness.Deliver(parking, "resume");
    harness.Deliver(parking, "resume");
    harness.Advance(2min + 30s);
    harness.Deliver(parking, "leave");
    EXPECT_EQ(harness.ExpectResult(parking).bytes, "7");
  });
}

TEST(Cookbook, UpgradeKeepsTheSumAndTheTimer) {
  const Shelf shelf("upgrade");
  ForEachSeed(50, [&](uint64_t seed) {
    Kitchen harness("upgrade_old", seed);
    const Pid till = harness.Submit("till");
    harness.Deliver(till, "sale", "3");
    harness.Advance(5h);
    const Status upgraded = harness.Upgrade(till, shelf.type(), "1.0.0");
    EXPECT_TRUE(upgraded.ok()) << upgraded.message();
    harness.Deliver(till, "sale", "250");
    harness.Advance(3h - 1s);
    EXPECT_TRUE(harness.IsLive(till));
    harness.Advance(1s);
    EXPECT_EQ(harness.ExpectResult(till).bytes, "550");
  });
}

TEST(Cookbook, WorkflowEndsWithTheReceipt) {
  ForEachSeed(50, [](uint64_t seed) {
    Kitchen harness("workflow", seed);
    harness.CrashEverywhere();
    const Pid booking = harness.Submit("booking", "run", "2A");
    const auto seat = harness.ExpectHeld("seat.reserve");
    EXPECT_EQ(seat.policy.max_attempts, 5u);
    EXPECT_EQ(seat.deadline, harness.now() + 24h);
    harness.CompleteNext("seat.reserve", "seat 2A");
    harness.CompleteNext("payment.charge", "receipt");
    EXPECT_EQ(harness.ExpectResult(booking).bytes, "receipt");
  });
}

TEST(Cookbook, WorkflowWithoutMoneyReleasesTheSeat) {
  ForEachSeed(50, [](uint64_t seed) {
    Kitchen harness("workflow", seed);
    harness.CrashEverywhere();
    const Pid booking = harness.Submit("booking", "run", "2A");
    harness.CompleteNext("seat.reserve", "seat 2A");
    harness.FailNext("payment.charge", Code::kAborted, "no money");
    EXPECT_EQ(harness.ExpectHeld("seat.release").payload.bytes, "seat 2A");
    harness.CompleteNext("seat.release");
    EXPECT_EQ(harness.ExpectFailed(booking, Code::kAborted), "no money");
  });
}

TEST(Cookbook, WorkflowThatIsCancelledReleasesTheSeat) {
  ForEachSeed(50, [](uint64_t seed) {
    Kitchen harness("workflow", seed);
    harness.CrashEverywhere();
    const Pid booking = harness.Submit("booking", "run", "2A");
    harness.ExpectHeld("seat.reserve");
    harness.Cancel(booking);
    harness.Run();
    // Only the answer says which seat has to be released.
    harness.CompleteNext("seat.reserve", "seat 2A");
    EXPECT_EQ(harness.ExpectHeld("seat.release").payload.bytes, "seat 2A");
    EXPECT_TRUE(harness.Held("payment.charge").empty());
    harness.CompleteNext("seat.release");
    EXPECT_EQ(harness.ExpectEnded(booking).kind, EndKind::kCancelled);
  });
}

TEST(Cookbook, WorkflowGivesUpAfterADay) {
  Kitchen harness("workflow");
  const Pid booking = harness.Submit("booking", "run", "2A");
  harness.Advance(24h);
  harness.ExpectFailed(booking, Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace actord::cookbook_test
