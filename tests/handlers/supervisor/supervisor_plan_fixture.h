// A supervisor's plan without processes: the test reports events and reads the
// requested actions.
//
// Thread-safety: none.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "handlers/supervisor/supervisor_plan.h"

namespace actord::handlers {
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Plan = SupervisorPlan;

inline ChildSpec ChildOf(std::string id,
                         Restart restart = Restart::kPermanent) {
  return {std::move(id), "type", restart, milliseconds(100), "{}"};
}

inline SupervisorSpec SpecOf(Strategy strategy,
                             const std::vector<ChildSpec>& children,
                             int intensity = 3) {
  SupervisorSpec spec;
  spec.strategy = strategy;
  spec.intensity = intensity;
  spec.backoff.jitter = 0;
  spec.children = children;
  return spec;
}

class PlanTest : public ::testing::Test {
 protected:
  void Begin(Strategy strategy, const std::vector<ChildSpec>& children,
             int intensity = 3) {
    Begin(SpecOf(strategy, children, intensity));
  }
  void Begin(SupervisorSpec spec) { plan_.emplace(std::move(spec)); }
  // All children have started; the actions until then are not checked.
  void BeginAndStartAll(Strategy strategy,
                        const std::vector<ChildSpec>& children,
                        int intensity = 3) {
    Begin(strategy, children, intensity);
    for (const ChildSpec& child : children) {
      Next();
      Started(child.id);
    }
    Next();
  }

  // The requested actions, one text each. Reports go to reports_.
  std::vector<std::string> Next() {
    std::vector<std::string> done;
    for (const Plan::Action& action : plan_->Next(now_)) {
      using Kind = Plan::Action::Kind;
      switch (action.kind) {
        case Kind::kStart:
          done.push_back("start " + IdOf(action.child));
          break;
        case Kind::kGiveUp:
          done.push_back("give up " + IdOf(action.child));
          break;
        case Kind::kCancel:
          done.push_back("cancel " + IdOf(action.child));
          break;
        case Kind::kTerminate:
          done.push_back("terminate " + IdOf(action.child));
          break;
        case Kind::kAnswer:
          done.push_back(
              "answer " + std::to_string(action.call) + " " +
              (action.status.ok()
                   ? action.text + (action.pid.empty() ? "" : " with a PID")
                   : std::string(CodeName(action.status.code()))));
          break;
        case Kind::kReport:
          reports_.push_back(action.text);
          break;
      }
    }
    return done;
  }

  const Plan::Child& Child(std::string_view id) const {
    for (const Plan::Child& child : plan_->children()) {
      if (child.spec.id == id) return child;
    }
    ADD_FAILURE() << "there is no child " << id;
    std::abort();
  }
  std::string IdOf(Plan::Key key) const {
    const Plan::Child* child = plan_->Find(key);
    return child == nullptr ? "?" : child->spec.id;
  }
  std::vector<std::string> Ids() const {
    std::vector<std::string> ids;
    for (const Plan::Child& child : plan_->children()) {
      ids.push_back(child.spec.id);
    }
    return ids;
  }

  void Started(std::string_view id) {
    const Pid pid = actord_pid{1, 1, ++pids_, 1};
    plan_->Started(Child(id).key, pid, now_);
  }
  void StartFailed(std::string_view id, Code code = Code::kInternal) {
    plan_->StartFailed(Child(id).key, Status(code, "no luck"), Moment());
  }
  void Exits(std::string_view id, ExitReason reason = ExitReason::kFailed,
             Code code = Code::kInternal) {
    plan_->Exited(Child(id).pid, reason, {code, "broken"}, Moment());
  }
  Plan::Moment Moment() const { return {.now = now_, .random = random_}; }
  void Pass(Duration duration) { now_ += duration; }
  // Passes the time until the plan's next deadline.
  Duration PassToNextLook() {
    const auto next = plan_->NextLook(now_);
    if (!next) return Duration(-1);
    return *next - std::exchange(now_, *next);
  }

  std::optional<Plan> plan_;
  Duration now_ = seconds(1000);
  uint64_t random_ = 0;
  uint32_t pids_ = 0;
  std::vector<std::string> reports_;
};

}  // namespace actord::handlers
