// Workers beside the work of several owners: workers run by hand.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using actord::testing::InputOf;
using actord::testing::Script;
using Did = Worker::Did;

constexpr Owner kBusyOwner{1};
constexpr Owner kQuietOwner{2};

class OwnersTurnsTest : public ::testing::Test {
 protected:
  void Start(int workers) {
    core_ = std::make_unique<SteppedCore>(workers);
    core_->Settle();
  }
  Pid Submit(Owner owner, SteppedCore::Step step) {
    scripts_.push_back(
        std::make_unique<Script>(Script{.step = std::move(step)}));
    SubmitRequest request{"script", "", {InputOf(*scripts_.back()), ""}, {}};
    request.owner = owner;
    Pid submitted;
    core_->core->admission.Submit(request, Pid{}, /*keep_result=*/true,
                                  [&submitted](absl::StatusOr<Pid> pid) {
                                    ASSERT_TRUE(pid.ok()) << pid.status();
                                    submitted = *pid;
                                  });
    core_->Settle();
    EXPECT_FALSE(submitted.empty());
    return submitted;
  }
  // An idle process that writes `name` into trace_ at each step with events.
  Pid Named(Owner owner, std::string name) {
    return Submit(owner, [this, name](Events events, StepOutput&) {
      if (!events.empty()) trace_.push_back(name);
    });
  }
  // An idle process that, once it got a message, sends to itself for ever.
  Pid Busy(Owner owner, std::string name) {
    return Submit(owner, [this, name](Events events, StepOutput& out) {
      if (events.empty()) return;
      trace_.push_back(name);
      out.Send(out.self(), "again");
    });
  }
  // How many turns run until `name` does.
  int TurnsUntil(const std::string& name) {
    trace_.clear();
    for (int turn = 1; turn <= 1000; ++turn) {
      if (core_->RunOne(0) != Did::kRan) break;
      if (!trace_.empty() && trace_.back() == name) return turn;
    }
    ADD_FAILURE() << name << " has not run";
    return 0;
  }

  // Before core_, so that they outlive its processes.
  std::vector<std::unique_ptr<Script>> scripts_;
  std::vector<std::string> trace_;
  std::unique_ptr<SteppedCore> core_;
};

TEST_F(OwnersTurnsTest, AMessageFromOutsideWaitsForFewTurnsOfAnotherOwner) {
  Start(1);
  // Alice's processes are busy in the worker's own queue, for ever.
  std::vector<Pid> busy;
  for (int i = 0; i < 50; ++i) busy.push_back(Busy(kBusyOwner, "alice"));
  const Pid bob = Named(kQuietOwner, "bob");
  core_->WakeAll();
  for (const Pid& pid : busy) core_->Send(pid, 0);
  for (int i = 0; i < 500; ++i) core_->RunOne(0);
  for (int i = 0; i < 20; ++i) {
    core_->Send(bob, -1);
    EXPECT_LE(TurnsUntil("bob"), 5);
  }
}

TEST_F(OwnersTurnsTest, ProcessOfABusyOwnerWaitsForTheOneTurnInSixtyOne) {
  Start(1);
  std::vector<Pid> busy;
  for (int i = 0; i < 50; ++i) busy.push_back(Busy(kBusyOwner, "alice"));
  const Pid other = Named(kBusyOwner, "other");
  core_->WakeAll();
  for (const Pid& pid : busy) core_->Send(pid, 0);
  for (int i = 0; i < 500; ++i) core_->RunOne(0);
  int longest = 0;
  for (int i = 0; i < 20; ++i) {
    core_->Send(other, -1);
    longest = std::max(longest, TurnsUntil("other"));
  }
  EXPECT_GT(longest, 20) << "otherwise the other test shows nothing";
}

TEST_F(OwnersTurnsTest, ABacklogOfOneOwnerDoesNotDelayAnother) {
  Start(1);
  std::vector<Pid> backlog;
  for (int i = 0; i < 400; ++i) backlog.push_back(Named(kBusyOwner, "alice"));
  const Pid bob = Named(kQuietOwner, "bob");
  core_->WakeAll();
  for (const Pid& pid : backlog) core_->Send(pid, -1);
  core_->Send(bob, -1);
  EXPECT_LE(TurnsUntil("bob"), 5);
}

TEST_F(OwnersTurnsTest, AProcessThatHasHadItsTurnGoesBehindOtherOwners) {
  Start(1);
  // Its mailbox never runs dry, so it would be the worker's next for ever.
  const Pid alice = Named(kBusyOwner, "alice");
  const Pid bob = Named(kQuietOwner, "bob");
  core_->WakeAll();
  for (int i = 0; i < 5000; ++i) core_->Send(alice, -1);
  core_->Send(bob, -1);
  EXPECT_LE(TurnsUntil("bob"), 3);
}

}  // namespace
}  // namespace actord::runtime
