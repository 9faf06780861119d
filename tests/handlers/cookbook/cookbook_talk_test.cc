// Recipes about processes that talk: ask, by_name, groups, monitor, publish.
#include <string>
#include <vector>

#include "tests/handlers/cookbook/cookbook_fixture.h"

namespace actord::cookbook_test {
namespace {

using ::testing::UnorderedElementsAre;

TEST(Cookbook, AskGetsTheAnswer) {
  ForEachSeed(50, [](uint64_t seed) {
    Kitchen harness("ask", seed);
    harness.Submit("prices");
    harness.Run();
    const Pid sale = harness.Submit("sale", "run", "book");
    EXPECT_EQ(harness.ExpectHeld("price.find").payload.bytes, "book");
    harness.CompleteNext("price.find", "12.50");
    EXPECT_EQ(harness.ExpectResult(sale).bytes, "sold for 12.50");
  });
}

TEST(Cookbook, AskGetsTheErrorOfTheOther) {
  Kitchen harness("ask");
  harness.Submit("prices");
  harness.Run();
  const Pid sale = harness.Submit("sale", "run", "book");
  harness.FailNext("price.find", Code::kNotFound, "no book");
  EXPECT_EQ(harness.ExpectFailed(sale, Code::kNotFound), "no book");
}

TEST(Cookbook, AskWaitsTwoSeconds) {
  Kitchen harness("ask");
  const Pid prices = harness.Submit("prices");
  harness.Run();
  const Pid sale = harness.Submit("sale", "run", "book");
  harness.Advance(1999ms);
  EXPECT_TRUE(harness.IsLive(sale));
  harness.Advance(1ms);
  harness.ExpectFailed(sale, Code::kDeadlineExceeded);
  harness.CompleteNext("price.find", "12.50");
  EXPECT_TRUE(harness.IsLive(prices)) << "a late answer is dropped";
}

TEST(Cookbook, AskWithoutTheOtherFailsAtOnce) {
  Kitchen harness("ask");
  harness.ExpectFailed(harness.Submit("sale", "run", "book"), Code::kNotFound);
}

TEST(Cookbook, ByNameStartsOneLedger) {
  ForEachSeed(100, [](uint64_t seed) {
    Kitchen harness("by_name", seed);
    std::vector<Pid> orders;
    for (int i = 0; i < 3; ++i) {
      orders.push_back(harness.Submit("purchase", "run", "anna"));
    }
    std::vector<std::string> counts;
    for (const Pid& order : orders) {
      counts.push_back(harness.ExpectResult(order).bytes);
    }
    EXPECT_THAT(counts, UnorderedElementsAre("1", "2", "3"));
    EXPECT_EQ(harness.Live("ledger").size(), 1u);
    EXPECT_EQ(harness.HolderOf("ledger/anna"), harness.Live("ledger")[0]);
    EXPECT_EQ(
        harness.ExpectResult(harness.Submit("purchase", "run", "ben")).bytes,
        "1");
  });
}

// The harness carries out a spawn at once, so the test plays the other order.
TEST(Cookbook, ByNameLooksAgainIfAnotherOrderWasFaster) {
  Kitchen harness("by_name");
  const Pid order = harness.Submit("purchase", "run", "anna");
  int spawns = 0;
  harness.Stub("process.spawn", [&](const testing::HeldYield& /*yield*/) {
    ++spawns;
    return Status(Code::kAlreadyExists, "the name is held");
  });
  harness.ExpectFailed(order, Code::kUnavailable);
  EXPECT_EQ(spawns, 3);
}

TEST(Cookbook, ByNameFailsIfNoLedgerCanStart) {
  Kitchen harness("by_name");
  const Pid order = harness.Submit("purchase", "run", "anna");
  harness.Stub("process.spawn", [](const testing::HeldYield& /*yield*/) {
    return Status(Code::kResourceExhausted, "no room");
  });
  harness.ExpectFailed(order, Code::kResourceExhausted);
}

TEST(Cookbook, ByNameRefusesWhatIsNoName) {
  Kitchen harness("by_name");
  harness.ExpectRefused(Code::kInvalidArgument, "purchase", "run",
                        "anna & ben");
}

TEST(Cookbook, GroupsReachAllOthers) {
  ForEachSeed(50, [](uint64_t seed) {
    Kitchen harness("groups", seed);
    const Pid speaker = harness.Submit("guest");
    const Pid near = harness.Submit("guest");
    const Pid far = harness.Submit("guest");
    const Pid gone = harness.Submit("guest");
    harness.Run();
    harness.Deliver(gone, "leave");
    harness.ExpectResult(gone);
    harness.Deliver(speaker, "say", "hello");
    harness.Run();
    EXPECT_EQ(harness.Call(near, "heard").value().bytes, "hello");
    EXPECT_EQ(harness.Call(far, "heard").value().bytes, "hello");
    EXPECT_EQ(harness.Call(speaker, "heard").value().bytes, "");
    EXPECT_EQ(harness.dead_letters(), 0u);
  });
}

TEST(Cookbook, MonitorHandsTheLockOn) {
  ForEachSeed(100, [](uint64_t seed) {
    Kitchen harness("monitor", seed);
    const Pid lock = harness.Submit("lock");
    const std::string pid = FormatPid(lock);
    std::vector<Pid> jobs;
    for (int i = 0; i < 4; ++i) {
      jobs.push_back(harness.Submit("print_job", "run", pid));
    }
    harness.Run();
    ASSERT_EQ(harness.Held("page.print").size(), 1u);
    // The holder ends in three ways; each hands the lock on.
    harness.CompleteNext("page.print");
    harness.Run();
    ASSERT_EQ(harness.Held("page.print").size(), 1u);
    harness.FailNext("page.print", Code::kUnavailable, "no paper");
    harness.Run();
    ASSERT_EQ(harness.Held("page.print").size(), 1u);
    harness.Terminate(harness.Held("page.print")[0].pid);
    harness.Run();
    ASSERT_EQ(harness.Held("page.print").size(), 1u);
    const Pid last = harness.Held("page.print")[0].pid;
    harness.CompleteNext("page.print");
    harness.ExpectResult(last);
    EXPECT_TRUE(harness.Live("print_job").empty());
  });
}

TEST(Cookbook, MonitorForgetsACallerThatEndsWhileItWaits) {
  ForEachSeed(100, [](uint64_t seed) {
    Kitchen harness("monitor", seed);
    const std::string pid = FormatPid(harness.Submit("lock"));
    const Pid first = harness.Submit("print_job", "run", pid);
    harness.Run();
    const Pid second = harness.Submit("print_job", "run", pid);
    harness.Run();
    const Pid third = harness.Submit("print_job", "run", pid);
    harness.Run();
    harness.Terminate(second);
    harness.Run();
    EXPECT_EQ(harness.ExpectHeld("page.print").pid, first);
    harness.CompleteNext("page.print");
    EXPECT_EQ(harness.ExpectHeld("page.print").pid, third);
  });
}

TEST(Cookbook, PublishesWhatHasChanged) {
  Kitchen harness("publish");
  const Pid thermometer = harness.Submit("thermometer", "run", "kitchen");
  for (const char* degrees : {"20", "20", "21"}) {
    harness.Deliver(thermometer, "measured", degrees);
  }
  harness.Run();
  const auto published = harness.TakePublished();
  ASSERT_EQ(published.size(), 2u);
  EXPECT_EQ(published[0].topic, "temperature/kitchen");
  EXPECT_EQ(published[0].payload, OwnedPayload::Text("20"));
  EXPECT_EQ(published[1].payload, OwnedPayload::Text("21"));
  harness.ExpectRefused(Code::kInvalidArgument, "thermometer", "run",
                        std::string(1024, 'k'));
}

}  // namespace
}  // namespace actord::cookbook_test
