// Owners of durable processes over the end of the program.
#include <gtest/gtest.h>

#include <string>

#include "runtime/process/errors.h"
#include "tests/runtime/durable/durable_fixture.h"

namespace actord::runtime {
namespace {

class DurableOwners : public ::testing::Test {
 protected:
  DurableOwners() { EXPECT_TRUE(world_.Start().ok()); }

  Pid AccountOf(Owner owner, const std::string& balance) {
    SubmitRequest request{"account", "", {balance, ""}, {}};
    request.owner = owner;
    request.durable = true;
    Pid pid;
    world_.runtime().admission.Submit(
        request, Pid{}, /*keep_result=*/true,
        [&pid](absl::StatusOr<Pid> begun) { pid = begun.value(); });
    world_.Settle();
    return pid;
  }
  void Restart() {
    world_.Crash(/*keep_cache=*/false);
    ASSERT_EQ(world_.Start(), absl::OkStatus());
  }

  DurableWorld world_;
};

// The step has the message, and its receiver must never get it.
TEST_F(DurableOwners, MessageToAnotherOwnerIsNotDeliveredByARestart) {
  const Pid alice = AccountOf(kAlice, "10");
  const Pid bob = AccountOf(kBob, "10");
  const Pid friend_of_alice = AccountOf(kAlice, "10");
  world_.Send(alice, "pay", FormatPid(bob) + " 3");
  world_.Send(alice, "pay", FormatPid(friend_of_alice) + " 3");
  world_.Settle();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(world_.BalanceOf(alice), "4");
    EXPECT_EQ(world_.BalanceOf(bob), "10");
    EXPECT_EQ(world_.BalanceOf(friend_of_alice), "13");
    Restart();
  }
}

TEST_F(DurableOwners, ProcessOfAnotherIsAnsweredAsOneThatHasEnded) {
  const Pid bob = AccountOf(kBob, "10");
  const Pid ended = AccountOf(kBob, "10");
  world_.Send(ended, "end", "");
  world_.Settle();
  Pid never = bob;
  never.slot += 1000;
  for (int i = 0; i < 2; ++i) {
    const auto reason_for = [&](const Pid& pid, Owner by) {
      return ReasonOf(world_.runtime().processes.WhyNotFound(pid, by));
    };
    for (const Pid& pid : {bob, ended, never}) {
      EXPECT_FALSE(world_.runtime().processes.Find(pid, kAlice));
      EXPECT_EQ(reason_for(pid, kAlice), reason::kProcessEnded);
    }
    EXPECT_TRUE(world_.runtime().processes.Find(bob, kBob));
    EXPECT_EQ(reason_for(ended, Owner::kAny), reason::kProcessEnded);
    Restart();
  }
}

TEST_F(DurableOwners, NumbersStandForTheSameNames) {
  ASSERT_TRUE(world_.store->KeepOwner(kAlice, "alice").ok());
  ASSERT_TRUE(world_.store->KeepOwner(kBob, "bob").ok());
  world_.Settle();
  Restart();
  std::string names;
  ASSERT_TRUE(world_.store
                  ->ForEachOwner([&](Owner owner, std::string_view name) {
                    names += std::to_string(static_cast<int>(owner)) + " " +
                             std::string(name) + ";";
                  })
                  .ok());
  EXPECT_EQ(names, "1 alice;2 bob;");
}

}  // namespace
}  // namespace actord::runtime
