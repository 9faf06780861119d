// A drain asks processes to end, but leaves those to their parents whose types
// say that they do so themselves.
#include <atomic>
#include <utility>

#include "tests/runtime/runtime_fixture.h"

namespace actord::runtime {
namespace {

class Supervising : public actord::testing::ScriptProcess {
 public:
  static constexpr const char* kName = "supervising";
  static constexpr bool kHandlesCancel = true;
  static constexpr bool kStopsChildren = true;
};

class DrainOrder : public RuntimeTest {
 protected:
  void Start() {
    ASSERT_TRUE(
        catalog_.AddProcessType(&actord::kProcessType<Supervising>, "test")
            .ok());
    RuntimeTest::Start();
  }

  // A parent of this type that starts `child_`, and runs `at_cancel` a good
  // while after it was asked to end: by then a drain has asked the child, too.
  void Begin(const std::string& type,
             std::function<void(StepOutput&)> at_cancel) {
    child_ = {.step = [this](Events events, StepOutput& out) {
      child_runs_ = true;
      for (const Event event : events) {
        if (event.is_cancel()) child_was_asked_ = true;
        if (event.is_cancel() || event.topic() == "end") {
          child_ends_ = true;
          out.Done();
        }
      }
    }};
    parent_ = {
        .step = [this, at_cancel](Events events, StepOutput& out) mutable {
          if (child_pid_.empty()) {
            child_pid_ = out.Spawn("cancellable", "", InputOf(child_));
          }
          for (const Event event : events) {
            if (event.is_cancel()) turns_left_ = 1000;
          }
          if (turns_left_ == 0) return;
          if (--turns_left_ == 0) return at_cancel(out);
          out.Continue();
        }};
    MustSubmit(parent_, type);
    ASSERT_TRUE(Eventually([this] { return child_runs_.load(); }));
  }
  // Whether all ended by themselves.
  bool Drain() {
    return runtime_->Shutdown(ShutdownMode::kDrain, absl::Seconds(20)).forced ==
           0;
  }

  actord::testing::Script parent_;
  actord::testing::Script child_;
  // The state of the parent's steps.
  actord::Pid child_pid_;
  int turns_left_ = 0;
  std::atomic<bool> child_runs_{false};
  std::atomic<bool> child_was_asked_{false};
  std::atomic<bool> child_ends_{false};
};

TEST_F(DrainOrder, ParentThatStopsItsChildrenIsAskedAlone) {
  Start();
  // A child whose parent has ended is asked, so the parent ends last.
  Begin("supervising", [this, is_told = false](StepOutput& out) mutable {
    if (!std::exchange(is_told, true)) out.Send(child_pid_, "end");
    if (child_ends_) return out.Done();
    turns_left_ = 1;
    out.Continue();
  });
  EXPECT_TRUE(Drain());
  EXPECT_FALSE(child_was_asked_);
}

TEST_F(DrainOrder, ChildrenOfOtherParentsAreAsked) {
  Start();
  Begin("cancellable", [](StepOutput& out) { out.Done(); });
  EXPECT_TRUE(Drain());
  EXPECT_TRUE(child_was_asked_);
}

TEST_F(DrainOrder, ChildrenThatTheirParentLeavesBehindAreAsked) {
  Start();
  Begin("supervising", [](StepOutput& out) { out.Done(); });
  EXPECT_TRUE(Drain());
  EXPECT_TRUE(child_was_asked_);
}

}  // namespace
}  // namespace actord::runtime
