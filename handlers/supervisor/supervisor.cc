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

// For commands that may take longer than `yields.default_timeout`: a pause may
// last a day, and the supervisor awaits a late Init, because a retry would only
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
  input_ = input.bytes;
  plan_.emplace(*std::move(spec));
  return {};
}

SnapshotResult Supervisor::Snapshot() const {
  return EncodeImage(input_, plan_->memory(), work_);
}

Status Supervisor::Restore(std::string_view /*method*/, const RestoreFrom& from,
                           RestoreContext& context) {
  Result<SupervisorImage> image = DecodeImage(from.snapshot.bytes);
  if (!image.ok()) return image.status();
  input_ = std::move(image->input);
  plan_.emplace(std::move(image->plan));
  work_ = std::move(image->work);
  // A restart keeps all yields; an upgrade keeps the adopted ones.
  context.AdoptYield(work_.start);
  context.AdoptYield(work_.sleep);
  for (const auto& [tag, pid] : work_.terminates) context.AdoptYield(tag);
  return {};
}

void Supervisor::Step(Events events, StepOutput& out) {
  // Calls that came meanwhile need no reply: the runtime answers calls to an
  // ended process.
  if (work_.has_said_all) return out.Fail(*plan_->verdict());
  const Duration now = out.monotonic_now();
  bool daemon_has_restarted = false;
  for (const Event event : events) {
    Take(event, {.now = now, .random = out.random()}, out);
    daemon_has_restarted |= event.type() == EventType::kExit &&
                            event.exit_reason() == ExitReason::kRestarted;
  }
  const bool has_acted = CarryAll({.now = now, .random = out.random()},
                                  !daemon_has_restarted, out);
  if (plan_->is_started()) {
    for (const CallId call : std::exchange(work_.wait_for_start, {})) {
      out.Reply(call, Payload::Json("{}"));
    }
  }
  if (const Status* verdict = plan_->verdict()) {
    // A failing step has no effects, so earlier effects must be applied first.
    if (events.empty() && !has_acted) return out.Fail(*verdict);
    work_.has_said_all = true;
    return out.Continue();
  }
  SetTimer(now, out);
  // The mailbox may have more such ends. Of all these children the first one
  // must start first.
  if (daemon_has_restarted) out.Continue();
}

bool Supervisor::CarryAll(const Plan::Moment& moment, bool may_start,
                          StepOutput& out) {
  bool has_acted = false;
  // When a start fails at once, the plan has another action: a pause, another
  // child, or an end.
  for (;;) {
    const std::vector<Plan::Action> actions =
        plan_->Next(moment.now, may_start);
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
  if (tag == work_.start) {
    work_.start = 0;
    const auto pid = is_ok ? out.ParsePid(event.payload().bytes) : std::nullopt;
    if (pid) {
      plan_->Started(work_.starting, *pid, moment.now);
    } else {
      plan_->StartFailed(work_.starting, Status(event.error()), moment);
    }
  } else if (tag == work_.sleep) {
    work_.sleep = 0;
    // The sleep is over or has failed: the plan decides whether to wait longer.
    work_.sleeps_until.reset();
  } else if (const auto found = work_.terminates.find(tag);
             found != work_.terminates.end()) {
    if (event.error().code == Code::kResourceExhausted) {
      plan_->TerminateFailed(found->second, moment.now);
    }
    work_.terminates.erase(found);
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
    // A caller that gives up does not say so. The oldest caller is the most
    // likely to have given up.
    if (work_.wait_for_start.size() == kMaxWaiting) {
      out.ReplyError(work_.wait_for_start.front(), Code::kResourceExhausted,
                     "too many have asked since, and wait for that");
      work_.wait_for_start.erase(work_.wait_for_start.begin());
    }
    work_.wait_for_start.push_back(call);
  } else if (topic == "input") {
    status = AnswerInput(out, answer);
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
                    "a supervisor answers children, started, input, "
                    "start_child, stop_child, restart_child and delete_child");
  }
  if (!status.ok()) {
    // The text may repeat the request, which may be as long as a payload.
    out.ReplyError(call, status.code(),
                   CutUtf8(status.message(), kMaxTextBytes));
  } else if (!answer.empty()) {
    out.Reply(call, Payload::Json(answer));
  }
}

Status Supervisor::AnswerInput(const StepOutput& out,
                               std::string& answer) const {
  // The limit may have been lowered since the input came.
  if (input_.size() > out.max_payload_bytes()) {
    return {Code::kResourceExhausted,
            "the input has " + std::to_string(input_.size()) +
                " bytes; limits.max_payload_bytes is " +
                std::to_string(out.max_payload_bytes())};
  }
  answer = input_.empty() ? "{}" : input_;
  return {};
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
  work_.starting = action.child;
  work_.start =
      out.Yield("process.spawn", Payload(action.text, {}), kNoTimeout);
}

void Supervisor::Carry(const Plan::Action& action, const Plan::Moment& moment,
                       StepOutput& out) {
  using Kind = Plan::Action::Kind;
  switch (action.kind) {
    case Kind::kStart:
      return Start(action, moment, out);
    case Kind::kGiveUp:
      return out.CancelYield(work_.start);
    case Kind::kCancel:
      out.Yield(commands::Cancel(out.FormatPid(action.pid),
                                 "its supervisor stops it"));
      return;
    case Kind::kTerminate:
      work_.terminates.emplace(
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
      return out.Reply(action.call, Payload::Json(Dump(answer)));
    }
    case Kind::kReport:
      out.Yield("log.write",
                Payload::Json(
                    Dump({{"level", action.status.ok() ? "info" : "warning"},
                          {"message", action.text}})));
      return;
  }
}

void Supervisor::SetTimer(Duration now, StepOutput& out) {
  const std::optional<Duration> next = plan_->NextLook(now);
  if (next == work_.sleeps_until) return;
  if (work_.sleep != 0) out.CancelYield(std::exchange(work_.sleep, 0));
  work_.sleeps_until = next;
  if (next) work_.sleep = out.Yield(commands::Sleep(*next - now), kNoTimeout);
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
