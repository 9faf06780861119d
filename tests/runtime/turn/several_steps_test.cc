// Turns of several steps: a step whose yields were answered at once is followed
// by the next. Workers run by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/runtime/stepped_core.h"

namespace actord::runtime {
namespace {

using ::testing::ElementsAre;
using Did = Worker::Did;

class SeveralSteps : public ::testing::Test {
 protected:
  void SetUp() override {
    core_ = std::make_unique<SteppedCore>(1);
    core_->AddCommand("now", ACTORD_HANDLER_INLINE,
                      [](actord::testing::Call& call) {
                        call.Reply(ACTORD_OK, "");
                        return ACTORD_HANDLED;
                      });
    core_->Settle();
    // Once it got a message, it yields as often as it is answered.
    yielder_ = core_->Submit([this](Events events, StepOutput& out) {
      if (events.empty()) return;
      trace_.push_back("yielder");
      if (sends_) out.Send(actord::Pid(ToAbi(other_)), "m");
      if (in_step_) in_step_();
      out.Yield("now");
      out.Block();
    });
    other_ = core_->Submit([this](Events events, StepOutput&) {
      if (!events.empty()) trace_.push_back("other");
    });
    core_->Wake(0);
  }

  // Before core_, so that they outlive its processes.
  std::vector<std::string> trace_;
  bool sends_ = false;
  std::function<void()> in_step_;
  std::unique_ptr<SteppedCore> core_;
  Pid yielder_;
  Pid other_;
};

TEST_F(SeveralSteps, AStepWhoseYieldsWereAnsweredIsFollowedWithinTheTurn) {
  core_->Send(yielder_, 0);
  EXPECT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_EQ(trace_, std::vector<std::string>(8, "yielder"));
  // Then the others have their turns, as ever.
  core_->Send(other_, -1);
  for (int i = 0; i < 64; ++i) core_->RunOne(0);
  EXPECT_THAT(trace_, ::testing::Contains("other"));
}

TEST_F(SeveralSteps, ReadyProcessOfAHigherLevelEndsTheTurn) {
  core_->process(other_).priority = kDefaultPriority + 1;
  // From another thread, so it waits in the global queue.
  in_step_ = [this] { core_->Send(other_, -1); };
  core_->Send(yielder_, 0);
  EXPECT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_THAT(trace_, ElementsAre("yielder", "other"));
}

TEST_F(SeveralSteps, ProcessReadiedByAStepEndsTheTurn) {
  sends_ = true;
  core_->Send(yielder_, 0);
  EXPECT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_EQ(core_->RunOne(0), Did::kRan);
  EXPECT_THAT(trace_, ElementsAre("yielder", "other"));
}

// A client that has the answer of a Submit may send before the first step.
TEST(FirstStep, HasNoMessageThatCameAfterInit) {
  SteppedCore core(1);
  std::vector<size_t> events_of_steps;
  const actord::testing::Script script{.step = [&](Events events, StepOutput&) {
    events_of_steps.push_back(events.size());
  }};
  core.core->admission.Submit(
      SubmitRequest{"script", "", {actord::testing::InputOf(script), ""}, {}},
      Pid{}, /*keep_result=*/true, [&](absl::StatusOr<Pid> pid) {
        ASSERT_TRUE(pid.ok()) << pid.status();
        core.Send(*pid, -1);
      });
  core.Settle();
  EXPECT_THAT(events_of_steps, ::testing::ElementsAre(0u, 1u));
}

}  // namespace
}  // namespace actord::runtime
