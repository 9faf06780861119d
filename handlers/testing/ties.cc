// Relations between the processes of a harness: calls, watches, names and
// groups.
#include <utility>
#include <vector>

#include "handlers/rules/log_text.h"
#include "handlers/rules/process_rules.h"
#include "handlers/testing/step.h"
#include "handlers/testing/world.h"

namespace actord::testing {
namespace {

// The effect of an end with this reason on a process through its link.
rules::TieEnd LinkEndOf(const Record& record, uint32_t reason) {
  const bool traps = record.type != nullptr && rules::TrapsExits(*record.type);
  return rules::TieEndOf(/*is_monitor=*/false, traps, reason);
}

}  // namespace

void Harness::World::BeginCall(const Pid& from, actord_completion completion,
                               Effect call) {
  if (call.to.empty()) call.to = HolderOf(call.holder);
  Record* const callee = Find(call.to);
  if (callee == nullptr) {
    Complete(completion, Code::kNotFound,
             OwnedPayload::Text("there is no such process or name"));
  } else if (callee->phase == Record::Phase::kEnded) {
    Complete(
        completion, Code::kFailedPrecondition,
        OwnedPayload::Text("process " + FormatPid(call.to) + " has ended"));
  } else {
    outstanding.at(completion).callee = call.to;
    callee->messages.push_back({ACTORD_EVENT_MESSAGE, Code::kOk, 0, from,
                                std::move(call.name), std::move(call.payload),
                                completion, 0});
  }
}

void Harness::World::Reply(actord_completion call, Code code,
                           OwnedPayload payload) {
  const auto found = outstanding.find(call);
  if (found == outstanding.end() || found->second.callee.empty()) {
    ++late_replies;
  } else {
    Complete(call, code, std::move(payload));
  }
}

void Harness::World::Tell(Record& record, Tag tag, const Pid& ended,
                          uint32_t reason, const Status& status,
                          OwnedPayload result) {
  if (!rules::CarriesResult(reason)) {
    result = OwnedPayload::Text(status.message());
  }
  record.messages.push_back({ACTORD_EVENT_EXIT,
                             status.code(),
                             tag,
                             ended,
                             {},
                             std::move(result),
                             0,
                             reason});
}

void Harness::World::EndLinked(Record& record, const Pid& ended,
                               detail::FirstFailure cause) {
  record.urgent.push_back(
      {kLinkedEnd, Code::kAborted, 0, ended, {}, {}, 0, 0, std::move(cause)});
}

void Harness::World::Monitor(Record& record, Tag tag, const Pid& pid) {
  const Record* const watched = Find(pid);
  if (watched != nullptr && watched->phase != Record::Phase::kEnded) {
    record.monitors.emplace(tag, pid);
    return;
  }
  Tell(record, tag, pid, ACTORD_EXIT_NO_PROCESS,
       Status(Code::kNotFound, "there is no process " + FormatPid(pid) +
                                   ", or it had ended before"),
       {});
}

void Harness::World::Link(Record& record, const Pid& pid) {
  if (pid == record.pid) return;
  Record* const other = Find(pid);
  if (other != nullptr && other->phase != Record::Phase::kEnded) {
    record.links.insert(pid);
    other->links.insert(record.pid);
    return;
  }
  const std::string why =
      "there is no process " + FormatPid(pid) + ", or it had ended before";
  if (LinkEndOf(record, ACTORD_EXIT_NO_PROCESS) == rules::TieEnd::kTells) {
    Tell(record, 0, pid, ACTORD_EXIT_NO_PROCESS, Status(Code::kNotFound, why),
         {});
  } else {
    EndLinked(record, pid,
              {FormatPid(pid), 1, detail::CutCause("could not be: " + why)});
  }
}

void Harness::World::Unlink(Record& record, const Pid& pid) {
  record.links.erase(pid);
  if (Record* const other = Find(pid)) other->links.erase(record.pid);
  std::erase_if(record.urgent, [&](const OwnedEvent& event) {
    return event.type == kLinkedEnd && event.from == pid;
  });
  std::erase_if(record.messages, [&](const OwnedEvent& event) {
    return event.type == ACTORD_EVENT_EXIT && event.tag == 0 &&
           event.from == pid;
  });
}

void Harness::World::Demonitor(Record& record, Tag tag) {
  record.monitors.erase(tag);
  // Tag 0 belongs to links.
  if (tag == 0) return;
  std::erase_if(record.messages, [tag](const OwnedEvent& event) {
    return event.type == ACTORD_EVENT_EXIT && event.tag == tag;
  });
}

void Harness::World::TellTied(const Record& record) {
  std::erase_if(names,
                [&](const auto& held) { return held.second == record.pid; });
  for (auto& [name, members] : groups) members.erase(record.pid);
  std::erase_if(groups, [](const auto& group) { return group.second.empty(); });

  std::vector<actord_completion> owed;
  for (const auto& [completion, call] : outstanding) {
    if (call.callee == record.pid) owed.push_back(completion);
  }
  for (const actord_completion completion : owed) {
    Complete(completion, Code::kAborted,
             OwnedPayload::Text("process " + FormatPid(record.pid) +
                                ", which was called, has ended without a "
                                "reply"));
  }

  const Outcome& outcome = *record.outcome;
  const uint32_t reason = rules::ExitReasonOf(outcome.kind);
  detail::FirstFailure cause;
  if (record.cause) {
    cause = *record.cause;
    ++cause.links;
  } else {
    cause = {FormatPid(record.pid), 1,
             detail::CutCause("has failed: " + outcome.status.message())};
  }
  for (const auto& [slot, other] : living) {
    if (other->links.erase(record.pid) != 0) {
      switch (LinkEndOf(*other, reason)) {
        case rules::TieEnd::kTells:
          Tell(*other, 0, record.pid, reason, outcome.status, outcome.result);
          break;
        case rules::TieEnd::kEnds:
          EndLinked(*other, record.pid, cause);
          break;
        case rules::TieEnd::kForgets:
          break;
      }
    }
    for (auto it = other->monitors.begin(); it != other->monitors.end();) {
      if (it->second == record.pid) {
        Tell(*other, it->first, record.pid, reason, outcome.status,
             outcome.result);
        it = other->monitors.erase(it);
      } else {
        ++it;
      }
    }
  }
}

void StepCall::Publish(actord_step* step, const actord_message* publication) {
  StepCall& call = Of(step);
  if (!call.MayAct() ||
      !call.Accepts(publication->payload, publication->topic, "publish")) {
    return;
  }
  if (publication->topic.size == 0) {
    call.Misuse(Code::kInvalidArgument,
                std::string(rules::kNoTopicToPublishText));
    return;
  }
  Effect& effect = call.effects.emplace_back();
  effect.kind = Effect::Kind::kPublish;
  effect.name = detail::View(publication->topic);
  effect.payload = OwnedPayload(Payload(publication->payload));
}

void StepCall::Log(actord_step* step, int32_t level, actord_bytes text) {
  StepCall& call = Of(step);
  if (!call.MayAct()) return;
  Effect& effect = call.effects.emplace_back();
  effect.kind = Effect::Kind::kLog;
  effect.level = rules::LogLevelOf(level);
  std::string shortened;
  effect.payload = OwnedPayload(
      Payload::Text(rules::LogText(detail::View(text), shortened)));
}

void StepCall::LogFailed() const {
  std::vector<LogLine> lines;
  for (auto effect = effects.rbegin();
       effect != effects.rend() && lines.size() < rules::kMaxFailedStepLines;
       ++effect) {
    if (effect->kind != Effect::Kind::kLog) continue;
    lines.push_back({.level = static_cast<LogLevel>(effect->level),
                     .text = effect->payload.bytes,
                     .from = record.pid,
                     .step_failed = true});
  }
  world.log.insert(world.log.end(), lines.rbegin(), lines.rend());
}

Pid StepCall::FindName(std::string_view name) {
  if (call_name != "step") return {};
  if (given != nullptr) {
    const size_t at = holders_given_++;
    return at < given->holders.size() ? given->holders[at] : Pid();
  }
  const Pid holder = world.HolderOf(name);
  if (kept != nullptr) kept->holders.push_back(holder);
  return holder;
}

Pid Harness::World::HolderOf(std::string_view name) const {
  const auto found = names.find(name);
  return found == names.end() ? Pid() : found->second;
}

}  // namespace actord::testing
