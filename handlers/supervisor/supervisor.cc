#include "handlers/supervisor/supervisor.h"

#include <actord/commands.h>
#include <actord/excerpt.h>
#include <actord/text.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "handlers/commands/json_reader.h"

namespace actord::handlers {
namespace {

using Json = nlohmann::json;
using Plan = SupervisorPlan;

// Timeout of commands that may take any time, whatever `yields.default_timeout`
// is: a pause may be a day, and a late Init is awaited. A retry would only
// leave another thread in that Init.
constexpr YieldOptions kNoTimeout = {.timeout = Duration::max()};

// Texts of plugins may be invalid UTF-8.
std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char* StateOf(const Plan::Child& child, Duration now) {
  switch (child.state) {
    case Plan::State::kStarting:
      return "starting";
    case Plan::State::kUp:
      return "running";
    case Plan::State::kStopping:
      return "stopping";
    case Plan::State::kDown:
      break;
  }
  if (!child.wanted) return child.held ? "stopped" : "ended";
  return child.not_before > now ? "backoff" : "waiting";
}

const char* NameOfRestart(Restart restart) {
  switch (restart) {
    case Restart::kPermanent:
      return "permanent";
    case Restart::kTransient:
      return "transient";
    case Restart::kTemporary:
      break;
  }
  return "temporary";
}

const char* NameOfStrategy(Strategy strategy) {
  switch (strategy) {
    case Strategy::kOneForOne:
      return "one_for_one";
    case Strategy::kOneForAll:
      return "one_for_all";
    case Strategy::kRestForOne:
      break;
  }
  return "rest_for_one";
}

// Reads a call about one child and finds the plan's function for it.
template <typename Ask>
Status WithId(const Payload& payload, const char* field, bool is_needed,
              const Ask& ask) {
  const std::string wanted = std::string("{\"") + field + "\": text}";
  JsonReader reader(payload.empty() && !is_needed ? Payload("{}") : payload,
                    wanted, {field});
  const std::string id =
      is_needed ? reader.Text(field) : reader.TextOr(field, "");
  return reader.status().ok() ? ask(id) : reader.status();
}

}  // namespace

Status Supervisor::Init(std::string_view /*method*/, const Payload& input,
                        const StepContext& context) {
  Result<SupervisorSpec> spec =
      ParseSupervisorSpec(input.bytes, context.max_payload_bytes());
  if (!spec.ok()) return spec.status();
  plan_.emplace(*std::move(spec));
  return {};
}

void Supervisor::Step(Events events, StepOutput& out) {
  // Calls that came meanwhile need no reply: the runtime answers calls to an
  // ended process.
  if (has_said_all_) return out.Fail(*plan_->verdict());
  const Duration now = out.monotonic_now();
  for (const Event event : events) {
    Take(event, {.now = now, .random = out.random()}, out);
  }
  const bool has_acted = CarryAll({.now = now, .random = out.random()}, out);
  if (plan_->is_started()) {
    for (const CallId call : std::exchange(wait_for_start_, {})) {
      out.Reply(call, "{}");
    }
  }
  if (const Status* verdict = plan_->verdict()) {
    // A failing step has no effects, so earlier effects must be applied first.
    if (events.empty() && !has_acted) return out.Fail(*verdict);
    has_said_all_ = true;
    return out.Continue();
  }
  SetTimer(now, out);
}

bool Supervisor::CarryAll(const Plan::Moment& moment, StepOutput& out) {
  bool has_acted = false;
  // After a start that fails at once the plan has another action: a pause,
  // another child, or an end.
  for (;;) {
    const std::vector<Plan::Action> actions = plan_->Next(moment.now);
    if (actions.empty()) return has_acted;
    has_acted = true;
    for (const Plan::Action& action : actions) Carry(action, moment, out);
  }
}

void Supervisor::Take(const Event& event, const Plan::Moment& moment,
                      StepOutput& out) {
  switch (event.type()) {
    case EventType::kCompletion:
      return TakeCompletion(event, moment, out);
    case EventType::kCancel:
      return plan_->End(
          Status(Code::kCancelled, std::string(event.payload().bytes)));
    case EventType::kMessage:
      if (event.call() != 0) TakeCall(event, out);
      // A message that is not a call is ignored.
      return;
    case EventType::kExit:
      if (event.from() == out.parent()) {
        return plan_->End(Status(
            Code::kAborted, "its parent, process " +
                                out.FormatPid(event.from()) + ", has ended"));
      }
      return plan_->Exited(event.from(), event.exit_reason(), event.error(),
                           moment);
  }
}

void Supervisor::TakeCompletion(const Event& event, const Plan::Moment& moment,
                                StepOutput& out) {
  const Tag tag = event.tag();
  const bool is_ok = !event.error();
  if (tag == start_) {
    start_ = 0;
    const auto pid = is_ok ? out.ParsePid(event.payload().bytes) : std::nullopt;
    if (pid) {
      plan_->Started(starting_, *pid, moment.now);
    } else {
      plan_->StartFailed(starting_, Status(event.error()), moment);
    }
  } else if (tag == sleep_) {
    sleep_ = 0;
    // The sleep is over or has failed: the plan says whether to wait on.
    sleeps_until_.reset();
  } else if (const auto found = terminates_.find(tag);
             found != terminates_.end()) {
    if (event.error().code == Code::kResourceExhausted) {
      plan_->TerminateFailed(found->second, moment.now);
    }
    terminates_.erase(found);
  }
  // Other completions belong to cancels and log lines, or to a sleep that was
  // given up.
}

void Supervisor::TakeCall(const Event& event, StepOutput& out) {
  const CallId call = event.call();
  const std::string_view topic = event.topic();
  const Payload payload = event.payload();
  std::string answer;
  Status status;
  if (topic == "children") {
    status = WithId(payload, "after", false, [&](const std::string& after) {
      Result<std::string> list = List(after, out);
      if (!list.ok()) return list.status();
      answer = *std::move(list);
      return Status();
    });
  } else if (topic == "started") {
    // A caller that gives up does not say so; the oldest is the likeliest.
    if (wait_for_start_.size() == kMaxWaiting) {
      out.ReplyError(wait_for_start_.front(), Code::kResourceExhausted,
                     "too many have asked since, and wait for that");
      wait_for_start_.erase(wait_for_start_.begin());
    }
    wait_for_start_.push_back(call);
  } else if (topic == "start_child") {
    Result<ChildSpec> child =
        ParseChildSpec(payload.bytes, out.max_payload_bytes());
    status = child.ok() ? plan_->StartChild(*std::move(child), call)
                        : child.status();
  } else if (topic == "stop_child") {
    status = WithId(payload, "id", true, [&](const std::string& id) {
      return plan_->StopChild(id, call);
    });
  } else if (topic == "restart_child") {
    status = WithId(payload, "id", true, [&](const std::string& id) {
      return plan_->RestartChild(id, call);
    });
  } else if (topic == "delete_child") {
    status = WithId(payload, "id", true, [&](const std::string& id) {
      answer = Dump({{"id", id}});
      return plan_->DeleteChild(id);
    });
  } else {
    status = Status(Code::kUnimplemented,
                    "a supervisor answers children, started, start_child, "
                    "stop_child, restart_child and delete_child");
  }
  if (!status.ok()) {
    // The text may repeat the request, which may be as long as a payload.
    out.ReplyError(call, status.code(),
                   CutUtf8(status.message(), kMaxTextBytes));
  } else if (!answer.empty()) {
    out.Reply(call, answer);
  }
}

void Supervisor::Start(const Plan::Action& action, const Plan::Moment& moment,
                       StepOutput& out) {
  // The limit may have been lowered since the spec was read.
  const size_t limit = out.max_payload_bytes();
  if (action.text.size() > limit) {
    return plan_->StartFailed(
        action.child,
        Status(Code::kInvalidArgument,
               "what starts it has " + std::to_string(action.text.size()) +
                   " bytes; limits.max_payload_bytes is " +
                   std::to_string(limit)),
        moment);
  }
  starting_ = action.child;
  start_ = out.Yield("process.spawn", action.text, kNoTimeout);
}

void Supervisor::Carry(const Plan::Action& action, const Plan::Moment& moment,
                       StepOutput& out) {
  using Kind = Plan::Action::Kind;
  switch (action.kind) {
    case Kind::kStart:
      return Start(action, moment, out);
    case Kind::kGiveUp:
      return out.CancelYield(start_);
    case Kind::kCancel:
      out.Yield(commands::Cancel(out.FormatPid(action.pid),
                                 "its supervisor stops it"));
      return;
    case Kind::kTerminate:
      terminates_.emplace(
          out.Yield(commands::Terminate(out.FormatPid(action.pid),
                                        "its supervisor stops it")),
          action.pid);
      return;
    case Kind::kAnswer: {
      if (!action.status.ok()) {
        return out.ReplyError(action.call, action.status.code(),
                              CutUtf8(action.status.message(), kMaxTextBytes));
      }
      Json answer = {{"id", action.text}};
      if (!action.pid.empty()) answer["pid"] = out.FormatPid(action.pid);
      return out.Reply(action.call, Dump(answer));
    }
    case Kind::kReport:
      out.Yield("log.write",
                Dump({{"level", action.status.ok() ? "info" : "warning"},
                      {"message", "supervisor: " + action.text}}));
      return;
  }
}

void Supervisor::SetTimer(Duration now, StepOutput& out) {
  const std::optional<Duration> next = plan_->NextLook(now);
  if (next == sleeps_until_) return;
  if (sleep_ != 0) out.CancelYield(std::exchange(sleep_, 0));
  sleeps_until_ = next;
  if (next) sleep_ = out.Yield(commands::Sleep(*next - now), kNoTimeout);
}

Result<std::string> Supervisor::List(std::string_view after,
                                     const StepOutput& out) const {
  const std::vector<Plan::Child>& all = plan_->children();
  auto at = all.begin();
  if (!after.empty()) {
    at = std::find_if(all.begin(), all.end(), [&](const Plan::Child& child) {
      return child.spec.id == after;
    });
    if (at == all.end()) {
      return Status(Code::kNotFound,
                    "there is no child \"" + Excerpt(after) + "\"");
    }
    ++at;
  }
  Json children = Json::array();
  size_t bytes = 0;
  for (; at != all.end(); ++at) {
    Json child = {{"id", at->spec.id},
                  {"type", at->spec.type},
                  {"restart", NameOfRestart(at->spec.restart)},
                  {"state", StateOf(*at, out.monotonic_now())},
                  {"restarts", at->restarts}};
    if (!at->pid.empty()) child["pid"] = out.FormatPid(at->pid);
    if (!at->last_end.empty()) child["last_end"] = at->last_end;
    bytes += Dump(child).size() + 1;
    if (bytes > kPageBytes && !children.empty()) break;
    children.push_back(std::move(child));
  }
  Json list = {{"strategy", NameOfStrategy(plan_->spec().strategy)},
               {"intensity", plan_->spec().intensity},
               {"restarts", plan_->restarts()},
               {"children", std::move(children)}};
  if (at != all.end()) list["next"] = std::prev(at)->spec.id;
  return Dump(list);
}

}  // namespace actord::handlers
