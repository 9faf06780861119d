// Random lives of supervisors: after any events in any order, the requested
// actions make sense, and nothing is left undone.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "handlers/supervisor/supervisor_plan.h"

namespace actord::handlers {
namespace {

using std::chrono::milliseconds;
using Kind = SupervisorPlan::Action::Kind;
using State = SupervisorPlan::State;

constexpr int kWalks = 3000;
constexpr int kSteps = 120;

// One supervisor with its children, as far as the supervisor knows them.
class Walk {
 public:
  explicit Walk(uint64_t seed)
      : random_(seed), plan_(RandomSpec()), daemon_restarts_(seed % 3 == 0) {
    Act();
  }

  void Go() {
    for (int i = 0; i < kSteps && !ended_; ++i) {
      if (daemon_restarts_ && i % 40 == 39) {
        RestartDaemon();
      } else {
        Happen();
      }
      Act();
    }
    plan_.End(Status(Code::kCancelled, "enough"));
    Act();
    // Every requested action is carried out, so the supervisor ends.
    for (int i = 0; i < 1000 && plan_.verdict() == nullptr; ++i) {
      if (!OneThatWasAsked()) PassToNextLook();
      Act();
    }
    ASSERT_NE(plan_.verdict(), nullptr) << "it does not end";
    EXPECT_TRUE(living_.empty());
    EXPECT_EQ(starting_, 0u);
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }

  ChildSpec RandomChild(std::string id) {
    ChildSpec child;
    child.id = std::move(id);
    child.type = "t";
    child.restart = static_cast<Restart>(Below(3));
    if (Below(3) != 0) child.stop_timeout = milliseconds(Below(3) * 50);
    // By the id, so that the walks draw the numbers that they always drew.
    if (child.id == "c2") child.start_timeout = milliseconds(30);
    if (child.id == "c3") {
      child.final_codes = 1U << static_cast<uint32_t>(Code::kInternal);
    }
    return child;
  }
  SupervisorSpec RandomSpec() {
    SupervisorSpec spec;
    spec.strategy = static_cast<Strategy>(Below(3));
    spec.intensity = static_cast<int>(Below(20));
    for (size_t i = Below(6); i > 0; --i) {
      spec.children.push_back(RandomChild("c" + std::to_string(i)));
    }
    return spec;
  }

  // Carries out the plan's actions, except the actions of other processes.
  void Act() {
    std::vector<SupervisorPlan::Action> actions = plan_.Next(now_);
    for (size_t i = 0; i < actions.size(); ++i) {
      const SupervisorPlan::Action action = actions[i];
      switch (action.kind) {
        case Kind::kStart:
          EXPECT_EQ(starting_, 0u) << "two start at a time";
          for (const SupervisorPlan::Child& child : plan_.children()) {
            EXPECT_FALSE(child.stop || child.state == State::kStopping)
                << child.spec.id << " is being stopped";
          }
          starting_ = action.child;
          break;
        case Kind::kGiveUp:
          EXPECT_EQ(starting_, action.child);
          plan_.StartFailed(std::exchange(starting_, 0),
                            Status(Code::kCancelled, "given up"), Now());
          for (auto& more : plan_.Next(now_)) actions.push_back(more);
          break;
        case Kind::kCancel:
        case Kind::kTerminate:
          EXPECT_EQ(living_.count(action.pid.slot), 1u) << "has ended";
          asked_.insert(action.pid.slot);
          break;
        case Kind::kAnswer:
          EXPECT_EQ(calls_.erase(action.call), 1u) << "was answered before";
          break;
        case Kind::kReport:
          break;
      }
    }
    ended_ = plan_.verdict() != nullptr;
    CheckNothingIsForgotten();
  }

  // If nothing is in progress and no deadline is pending, every child is in its
  // final state.
  void CheckNothingIsForgotten() {
    bool busy = starting_ != 0 || ended_;
    for (const SupervisorPlan::Child& child : plan_.children()) {
      busy = busy || child.state == State::kStopping;
    }
    if (busy || plan_.NextLook(now_)) return;
    EXPECT_TRUE(plan_.Next(now_).empty());
    for (const SupervisorPlan::Child& child : plan_.children()) {
      EXPECT_EQ(child.state == State::kUp, child.wanted) << child.spec.id;
      EXPECT_FALSE(child.stop) << child.spec.id;
    }
    EXPECT_TRUE(calls_.empty()) << "a call was forgotten";
  }

  void Happen() {
    switch (Below(8)) {
      case 0:
      case 1:
        return FinishStart(Below(3) != 0);
      case 2:
        return Exit(living_, static_cast<ExitReason>(1 + Below(6)));
      case 3:
        return Exit(asked_, ExitReason::kCancelled);
      case 4:
        return PassToNextLook();
      case 5:
        now_ += milliseconds(Below(400));
        return;
      case 6:
        return Call();
      case 7:
        if (!asked_.empty()) {
          plan_.TerminateFailed(PidOf(*asked_.begin()), now_);
        }
        return;
    }
  }
  bool OneThatWasAsked() {
    if (asked_.empty() && starting_ == 0) return false;
    FinishStart(true);
    Exit(asked_, ExitReason::kTerminated);
    return true;
  }

  void FinishStart(bool well) {
    if (starting_ == 0) return;
    const SupervisorPlan::Key child = std::exchange(starting_, 0);
    if (well) {
      living_.insert(++pids_);
      plan_.Started(child, PidOf(pids_), now_);
    } else {
      plan_.StartFailed(child, Status(Code::kInternal, "no luck"), Now());
    }
  }
  void Exit(const std::set<uint32_t>& among, ExitReason reason) {
    if (among.empty()) return;
    auto it = among.begin();
    std::advance(it, Below(among.size()));
    const uint32_t pid = *it;
    living_.erase(pid);
    asked_.erase(pid);
    plan_.Exited(PidOf(pid), reason, {Code::kInternal, ""}, Now());
    // The link reports it, too.
    plan_.Exited(PidOf(pid), reason, {Code::kInternal, ""}, Now());
  }
  // Some children are volatile.
  void RestartDaemon() {
    for (const uint32_t pid : std::set<uint32_t>(living_)) {
      if (pid % 3 == 0) continue;
      Exit({pid}, ExitReason::kRestarted);
    }
  }
  void PassToNextLook() {
    if (const auto next = plan_.NextLook(now_)) now_ = *next;
  }
  void Call() {
    const std::string id = "c" + std::to_string(Below(9));
    const CallId call = ++last_call_;
    switch (Below(4)) {
      case 0:
        if (plan_.StartChild(RandomChild(id), call).ok()) calls_.insert(call);
        return;
      case 1:
        if (plan_.StopChild(id, call).ok()) calls_.insert(call);
        return;
      case 2:
        if (plan_.RestartChild(id, call).ok()) calls_.insert(call);
        return;
      case 3:
        (void)plan_.DeleteChild(id);
        return;
    }
  }

  static Pid PidOf(uint32_t slot) { return actord_pid{1, 1, slot, 1}; }
  SupervisorPlan::Moment Now() { return {.now = now_, .random = random_()}; }

  std::mt19937_64 random_;
  SupervisorPlan plan_;
  const bool daemon_restarts_;
  Duration now_ = milliseconds(1);
  SupervisorPlan::Key starting_ = 0;
  std::set<uint32_t> living_;
  // Live children that were asked to end.
  std::set<uint32_t> asked_;
  // Calls that wait for an answer.
  std::set<CallId> calls_;
  uint32_t pids_ = 0;
  CallId last_call_ = 0;
  bool ended_ = false;
};

TEST(SupervisorWalk, NothingIsLeftUndoneInAnyLife) {
  for (uint64_t seed = 1; seed <= kWalks; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Walk(seed).Go();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace actord::handlers
