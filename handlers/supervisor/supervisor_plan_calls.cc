// The calls to a supervisor.
#include <actord/excerpt.h>

#include <utility>

#include "handlers/supervisor/supervisor_plan.h"

namespace actord::handlers {

Status SupervisorPlan::CheckAsked(const Child* child,
                                  std::string_view id) const {
  if (memory_.end) return {Code::kUnavailable, "the supervisor is ending"};
  if (child == nullptr) {
    return {Code::kNotFound, "there is no child \"" + Excerpt(id) + "\""};
  }
  if (child->call == 0) return {};
  return {Code::kFailedPrecondition,
          "child " + std::string(id) +
              " is being started or stopped by another call"};
}

Status SupervisorPlan::StartChild(ChildSpec spec, CallId call) {
  if (memory_.end) return CheckAsked(nullptr, spec.id);
  if (const Child* other = FindById(spec.id)) {
    return {Code::kAlreadyExists,
            "there is a child " + spec.id +
                (other->state == State::kDown ? ", which is down" : "")};
  }
  if (memory_.children.size() >= SupervisorSpec::kMaxChildren) {
    return {Code::kResourceExhausted,
            "the supervisor has " +
                std::to_string(SupervisorSpec::kMaxChildren) +
                " children, which is the limit"};
  }
  Child& child = Add(std::move(spec));
  child.is_new = true;
  child.call = call;
  return {};
}

Status SupervisorPlan::StopChild(std::string_view id, CallId call) {
  Child* const child = FindById(id);
  if (Status status = CheckAsked(child, id); !status.ok()) return status;
  child->wanted = false;
  child->held = true;
  child->call = call;
  child->stop = true;
  if (child->state == State::kDown) HasStopped(*child);
  return {};
}

Status SupervisorPlan::RestartChild(std::string_view id, CallId call) {
  Child* const child = FindById(id);
  if (Status status = CheckAsked(child, id); !status.ok()) return status;
  child->wanted = true;
  child->held = false;
  child->call = call;
  child->failures = 0;
  child->not_before = Duration(0);
  // A child that is starting anyway counts as restarted.
  if (child->state == State::kUp) child->stop = true;
  return {};
}

Status SupervisorPlan::DeleteChild(std::string_view id) {
  const Child* const child = FindById(id);
  if (Status status = CheckAsked(child, id); !status.ok()) return status;
  if (child->state != State::kDown || child->wanted) {
    return {Code::kFailedPrecondition,
            "child " + std::string(id) + " is not stopped; stop_child first"};
  }
  Forget(*child);
  return {};
}

}  // namespace actord::handlers
