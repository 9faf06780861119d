#include "handlers/supervisor/supervisor_plan.h"

#include <actord/text.h>

#include <algorithm>
#include <utility>

namespace actord::handlers {
namespace {

// Maximum size of the text of an end. The text is for people; a list has up to
// a thousand.
constexpr size_t kMaxEndBytes = 200;

std::string_view NameOf(ExitReason reason) {
  switch (reason) {
    case ExitReason::kDone:
      return "done";
    case ExitReason::kFailed:
      return "failed";
    case ExitReason::kThrew:
      return "threw";
    case ExitReason::kInitRefused:
      return "did not start";
    case ExitReason::kCancelled:
      return "cancelled";
    case ExitReason::kTerminated:
      return "terminated";
    case ExitReason::kRestarted:
      return "ended with the daemon";
    default:
      return "ended";
  }
}

std::string EndText(std::string_view how, std::string_view text) {
  std::string end(how);
  if (!text.empty()) end += ": " + std::string(CutUtf8(text, kMaxEndBytes));
  return end;
}

bool IsFinal(const ChildSpec& spec, Code code) {
  return ((spec.final_codes >> static_cast<uint32_t>(code)) & 1) != 0;
}

}  // namespace

SupervisorPlan::SupervisorPlan(SupervisorSpec spec) {
  memory_.spec = std::move(spec);
  for (ChildSpec& child : std::exchange(memory_.spec.children, {})) {
    Add(std::move(child));
  }
  memory_.of_input = memory_.children.size();
}

SupervisorPlan::Child& SupervisorPlan::Add(ChildSpec spec) {
  Child& child = memory_.children.emplace_back();
  child.key = memory_.next_key++;
  child.spec = std::move(spec);
  return child;
}

const SupervisorPlan::Child* SupervisorPlan::Find(Key key) const {
  const auto found =
      std::find_if(memory_.children.begin(), memory_.children.end(),
                   [key](const Child& child) { return child.key == key; });
  return found == memory_.children.end() ? nullptr : &*found;
}

SupervisorPlan::Child* SupervisorPlan::Find(Key key) {
  return const_cast<Child*>(std::as_const(*this).Find(key));
}

SupervisorPlan::Child* SupervisorPlan::FindById(std::string_view id) {
  for (Child& child : memory_.children) {
    if (child.spec.id == id) return &child;
  }
  return nullptr;
}

void SupervisorPlan::Forget(const Child& child) {
  memory_.children.erase(memory_.children.begin() +
                         (&child - memory_.children.data()));
}

void SupervisorPlan::Answer(Child& child, const Status& status) {
  const CallId call = std::exchange(child.call, 0);
  if (call == 0) return;
  Action action;
  action.kind = Action::Kind::kAnswer;
  action.child = child.key;
  action.pid = child.pid;
  action.call = call;
  action.status = status;
  action.text = child.spec.id;
  actions_.push_back(std::move(action));
}

void SupervisorPlan::Report(const Child& child, std::string text,
                            bool is_warning) {
  Action action;
  action.status = is_warning ? Status(Code::kAborted, "") : Status();
  action.text = "child " + child.spec.id + " (" + child.spec.type + ") " +
                std::move(text);
  actions_.push_back(std::move(action));
}

void SupervisorPlan::Started(Key key, const Pid& pid, Duration now) {
  Child* const child = Find(key);
  if (child == nullptr || child->state != State::kStarting) return;
  child->state = State::kUp;
  child->pid = pid;
  child->up_since = now;
  child->late_in_row = 0;
  child->lost = false;
  // A child that ended at once has served nobody.
  child->was_up = child->was_up || !child->stop;
  child->is_new = false;
  // The caller of stop_child is answered when the child is down.
  if (!child->stop) Answer(*child, {});
}

void SupervisorPlan::StartFailed(Key key, const Status& reported,
                                 const Moment& moment) {
  Child* const child = Find(key);
  if (child == nullptr || child->state != State::kStarting) return;
  child->state = State::kDown;
  // A start that was given up is reported as cancelled. If Init refused just
  // before, the refusal stands.
  const bool is_late = child->is_late && reported.code() == Code::kCancelled;
  child->late_in_row = is_late ? child->late_in_row + 1 : 0;
  const Status why = is_late ? Status(Code::kDeadlineExceeded,
                                      "Init did not return within " +
                                          Seconds(*child->spec.start_timeout))
                             : reported;
  child->last_end = EndText(NameOf(ExitReason::kInitRefused), why.message());
  if (child->is_new) {
    Answer(*child, why);
    return Forget(*child);
  }
  if (child->stop) return HasStopped(*child);
  Answer(*child, why);
  // Nothing would retry the child, and the other children cannot work without
  // it.
  if (!memory_.is_started && !child->was_up &&
      (child->spec.restart == Restart::kTemporary ||
       IsFinal(child->spec, why.code()))) {
    const std::string text = "child " + child->spec.id + " (" +
                             child->spec.type + ") " + child->last_end;
    child->wanted = false;
    Report(*child, child->last_end + "; it is not tried again", true);
    return End(Status(Code::kAborted, text));
  }
  EndedBySelf(*child, /*is_failure=*/true, why.code(), moment);
}

void SupervisorPlan::Exited(const Pid& pid, ExitReason reason, const Error& why,
                            const Moment& moment) {
  const auto found =
      std::find_if(memory_.children.begin(), memory_.children.end(),
                   [&pid](const Child& child) {
                     return child.pid == pid && !child.pid.empty();
                   });
  if (found == memory_.children.end()) return;
  Child& child = *found;
  child.state = State::kDown;
  child.pid = {};
  child.last_end =
      EndText(NameOf(reason), reason == ExitReason::kDone ? "" : why.message);
  if (child.stop) return HasStopped(child);
  if (reason == ExitReason::kRestarted) return EndedWithDaemon(child);
  if (moment.now - child.up_since >= memory_.spec.period) child.failures = 0;
  EndedBySelf(child,
              reason != ExitReason::kDone && reason != ExitReason::kCancelled,
              // An exit of Done has another code if its result was left out.
              reason == ExitReason::kDone ? Code::kOk : why.code, moment);
}

void SupervisorPlan::EndedWithDaemon(Child& child) {
  if (child.spec.restart == Restart::kTemporary) {
    Report(child, child.last_end, true);
    return Forget(child);
  }
  child.lost = true;
  child.not_before = Duration(0);
}

void SupervisorPlan::HasStopped(Child& child) {
  child.stop = false;
  // The caller waits for the start of the child.
  if (child.wanted) return;
  Answer(child, child.held ? Status()
                           : Status(Code::kAborted, "the child was stopped"));
  if (child.spec.restart == Restart::kTemporary) Forget(child);
}

void SupervisorPlan::EndedBySelf(Child& child, bool is_failure, Code code,
                                 const Moment& moment) {
  const bool is_final = IsFinal(child.spec, code);
  const bool again =
      !memory_.end && !is_final &&
      (child.spec.restart == Restart::kPermanent ||
       (child.spec.restart == Restart::kTransient && is_failure));
  if (!again) {
    child.wanted = false;
    Report(child,
           child.last_end + (is_final ? "; it is not restarted, because " +
                                            std::string(CodeName(code)) +
                                            " is one of its final_codes"
                                      : ""),
           is_failure);
    if (child.spec.restart == Restart::kTemporary) Forget(child);
    return;
  }
  // A late Init keeps a thread, and late starts may be further apart than the
  // period, so they are counted without regard to the period.
  const bool is_too_late = child.late_in_row > memory_.spec.intensity;
  if (!CountRestart(moment.now) || is_too_late) return GiveUp(child);
  ++child.failures;
  ++child.restarts;
  const Duration pause = PauseOf(child, moment.random);
  child.not_before = moment.now + pause;
  Report(child, child.last_end + "; restart in " + Seconds(pause), true);
  TakeAlong(child);
}

void SupervisorPlan::TerminateFailed(const Pid& pid, Duration now) {
  for (Child& child : memory_.children) {
    if (child.pid != pid || child.state != State::kStopping) continue;
    child.terminated = false;
    child.until = now + kTerminateAgain;
  }
}

void SupervisorPlan::End(const Status& why) {
  if (memory_.end) return;
  memory_.end = why;
  for (Child& child : memory_.children) {
    child.wanted = false;
    child.stop = child.state != State::kDown;
  }
}

bool SupervisorPlan::StopNext(Duration now) {
  const auto last =
      std::find_if(memory_.children.rbegin(), memory_.children.rend(),
                   [](const Child& child) { return child.stop; });
  if (last == memory_.children.rend()) return false;
  Child& child = *last;
  Action action;
  action.child = child.key;
  action.pid = child.pid;
  switch (child.state) {
    case State::kDown:
      // Not reached: HasStopped has cleared the mark.
      return false;
    case State::kStarting:
      // An Init that does not return must not delay the end.
      if (!memory_.end || child.terminated) return false;
      child.terminated = true;
      action.kind = Action::Kind::kGiveUp;
      break;
    case State::kUp:
      child.state = State::kStopping;
      child.terminated = child.spec.stop_timeout == Duration(0);
      child.until.reset();
      if (child.spec.stop_timeout) child.until = now + *child.spec.stop_timeout;
      action.kind =
          child.terminated ? Action::Kind::kTerminate : Action::Kind::kCancel;
      break;
    case State::kStopping:
      if (child.terminated || !child.until || now < *child.until) return false;
      child.terminated = true;
      Report(child, "has not ended in time, and is terminated", true);
      action.kind = Action::Kind::kTerminate;
      break;
  }
  actions_.push_back(std::move(action));
  return true;
}

bool SupervisorPlan::GiveUpLateStart(Duration now) {
  for (Child& child : memory_.children) {
    if (child.state != State::kStarting || child.terminated) continue;
    if (!child.until || now < *child.until) continue;
    child.terminated = true;
    child.is_late = true;
    Action action;
    action.kind = Action::Kind::kGiveUp;
    action.child = child.key;
    actions_.push_back(std::move(action));
    return true;
  }
  return false;
}

bool SupervisorPlan::StartNext(Duration now) {
  for (Child& child : memory_.children) {
    if (child.stop || child.state == State::kStarting) return false;
  }
  for (Child& child : memory_.children) {
    if (child.state != State::kDown || !child.wanted) continue;
    if (now >= child.not_before) {
      child.state = State::kStarting;
      child.terminated = false;
      child.is_late = false;
      child.until.reset();
      if (child.spec.start_timeout) {
        child.until = now + *child.spec.start_timeout;
      }
      Action action;
      action.kind = Action::Kind::kStart;
      action.child = child.key;
      action.text = child.spec.spawn;
      actions_.push_back(std::move(action));
      return true;
    }
    if (memory_.spec.strategy != Strategy::kOneForOne || !child.was_up)
      return false;
  }
  return false;
}

std::vector<SupervisorPlan::Action> SupervisorPlan::Next(Duration now,
                                                         bool may_start) {
  while (StopNext(now) || GiveUpLateStart(now) ||
         (may_start && StartNext(now))) {
  }
  const auto is_settled = [](const Child& child) {
    return child.was_up || !child.wanted || child.is_new;
  };
  memory_.is_started =
      memory_.is_started ||
      (!memory_.end && std::all_of(memory_.children.begin(),
                                   memory_.children.end(), is_settled));
  return std::exchange(actions_, {});
}

bool SupervisorPlan::is_started() const {
  return memory_.is_started &&
         std::none_of(
             memory_.children.begin(), memory_.children.end(),
             [](const Child& child) { return child.lost && child.wanted; });
}

std::optional<Duration> SupervisorPlan::NextLook(Duration now) const {
  std::optional<Duration> next;
  const auto consider = [&](Duration at) {
    if (at > now && (!next || at < *next)) next = at;
  };
  for (const Child& child : memory_.children) {
    if (child.state == State::kDown && child.wanted) consider(child.not_before);
    const bool has_deadline =
        child.state == State::kStopping || child.state == State::kStarting;
    if (has_deadline && !child.terminated && child.until) {
      consider(*child.until);
    }
  }
  return next;
}

const Status* SupervisorPlan::verdict() const {
  if (!memory_.end || !actions_.empty()) return nullptr;
  const bool all_down = std::all_of(
      memory_.children.begin(), memory_.children.end(),
      [](const Child& child) { return child.state == State::kDown; });
  return all_down ? &*memory_.end : nullptr;
}

}  // namespace actord::handlers
