// How a harness runs: which process is next, which events its step gets, how
// its effects and verdict are applied, and how time passes.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "handlers/rules/process_rules.h"
#include "handlers/testing/step.h"
#include "handlers/testing/world.h"

namespace actord::testing {
namespace {

// FailureOf for a step that asks to begin again.
std::optional<std::pair<EndKind, Status>> WhyNotAgain(const StepCall& call) {
  if (!call.next_life) {
    return std::pair(EndKind::kThrew,
                     Status(Code::kFailedPrecondition,
                            std::string(rules::kNotContinuedText)));
  }
  const std::string& method = call.next_life->method;
  if (rules::FindMethod(*call.record.type, method) != rules::kNoSuchMethod) {
    return std::nullopt;
  }
  return std::pair(
      EndKind::kThrew,
      Status(Code::kInvalidArgument,
             std::string(rules::kNoSuchMethodText) + ": " + method));
}

// Returns why the step fails; nullopt: the step succeeds, and its effects are
// applied.
std::optional<std::pair<EndKind, Status>> FailureOf(const StepCall& call,
                                                    int32_t verdict) {
  const Record& record = call.record;
  if (!call.thrown.empty()) {
    return std::pair(EndKind::kThrew, Status(Code::kInternal, call.thrown));
  }
  if (!call.misuse.ok()) return std::pair(EndKind::kThrew, call.misuse);
  if (verdict == ACTORD_STEP_CONTINUE_AS) return WhyNotAgain(call);
  const bool yields = std::any_of(
      call.effects.begin(), call.effects.end(), [](const Effect& effect) {
        return effect.kind == Effect::Kind::kYield ||
               effect.kind == Effect::Kind::kCall;
      });
  const bool can_wake =
      yields || !record.yields.empty() || record.HasUrgentForStep();
  if (rules::Succeeds(verdict, can_wake)) return std::nullopt;
  const Status failure(call.failure_code, call.failure);
  switch (rules::FailureOf(verdict, record.cancel_requested,
                           static_cast<int32_t>(call.failure_code))) {
    case rules::StepFailure::kFailed:
      return std::pair(EndKind::kFailed, failure);
    case rules::StepFailure::kCancelled:
      return std::pair(EndKind::kCancelled, failure);
    case rules::StepFailure::kThrew:
      return std::pair(EndKind::kThrew, failure);
    case rules::StepFailure::kBlockedForEver:
      return std::pair(EndKind::kThrew,
                       Status(Code::kFailedPrecondition,
                              std::string(rules::kBlockedForEverText)));
    case rules::StepFailure::kUnknownVerdict:
      break;
  }
  return std::pair(
      EndKind::kThrew,
      Status(Code::kInternal, "Step returned " + std::to_string(verdict) +
                                  ", which is none of ACTORD_STEP_*"));
}

}  // namespace

bool Harness::World::RunOne() {
  std::vector<Record*> ready;
  for (const auto& [slot, record] : living) {
    if (!record->IsReady()) continue;
    if (!ready.empty() && record->priority < ready[0]->priority) continue;
    if (!ready.empty() && record->priority > ready[0]->priority) ready.clear();
    ready.push_back(record);
  }
  if (ready.empty()) return false;
  Turn(*ready[random() % ready.size()]);
  return true;
}

size_t Harness::World::Run() {
  size_t turns = 0;
  while (RunOne()) {
    if (++turns > options.max_turns) {
      Break("processes are still ready after " +
            std::to_string(options.max_turns) + " turns");
    }
  }
  return turns;
}

void Harness::World::Advance(uint64_t duration_ns) {
  const uint64_t end =
      duration_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + duration_ns;
  size_t turns = Run();
  while (!timers_.empty() && timers_.begin()->first <= end) {
    now_ns = std::max(now_ns, timers_.begin()->first);
    FireTimersAt(now_ns);
    turns += Run() + 1;
    if (turns > options.max_turns) {
      Break("timers and processes have kept each other busy for " +
            std::to_string(options.max_turns) + " turns");
    }
  }
  now_ns = end;
}

size_t Harness::World::DrawBatch() {
  // A step gets all available events half of the time, and only some of them
  // otherwise, because a daemon may do both.
  const uint64_t bits = random();
  return (bits & 1) != 0 ? kMaxBatch : 1 + (bits >> 1) % kMaxBatch;
}

bool Harness::World::EndBy(Record& record) {
  const rules::Cancel cancel =
      rules::CancelOf(*record.type, record.cancel_seen);
  const auto found = std::find_if(
      record.urgent.begin(), record.urgent.end(), [&](const OwnedEvent& event) {
        return event.type == kLinkedEnd || event.type == kTerminate ||
               (event.type == ACTORD_EVENT_CANCEL &&
                cancel == rules::Cancel::kEnds);
      });
  if (found == record.urgent.end()) return false;
  const uint32_t type = found->type;
  std::string why = std::move(found->payload.bytes);
  if (type == kLinkedEnd) {
    Status status(Code::kAborted, detail::LinkedFailureText(
                                      FormatPid(found->from), *found->cause));
    record.cause = std::move(found->cause);
    End(record, EndKind::kFailed, std::move(status), {});
  } else if (type == kTerminate) {
    End(record, EndKind::kTerminated, Status(Code::kAborted, std::move(why)),
        {});
  } else {
    End(record, EndKind::kCancelled, Status(Code::kCancelled, std::move(why)),
        {});
  }
  return true;
}

void Harness::World::TakeUrgent(Record& record, size_t most,
                                std::vector<OwnedEvent>& batch) {
  while (batch.size() < most && !record.urgent.empty()) {
    OwnedEvent event = std::move(record.urgent.front());
    record.urgent.pop_front();
    if (event.type == ACTORD_EVENT_CANCEL) {
      const bool again = std::exchange(record.cancel_seen, true);
      if (rules::CancelOf(*record.type, again) == rules::Cancel::kIgnored) {
        continue;
      }
      record.cancel_requested = true;
    }
    batch.push_back(std::move(event));
  }
}

void Harness::World::Turn(Record& record) {
  if (record.phase == Record::Phase::kStarting) {
    if (!Admit(record)) return;
    if (record.admitted != 0) AnswerSpawn(record);
  }
  if (EndBy(record)) return;
  std::vector<OwnedEvent> batch = std::exchange(record.unseen, {});
  const size_t most = std::max(DrawBatch(), batch.size());
  TakeUrgent(record, most, batch);
  while (!record.blocked && batch.size() < most && !record.messages.empty()) {
    batch.push_back(std::move(record.messages.front()));
    record.messages.pop_front();
  }
  if (!batch.empty() || record.step_due) Step(record, std::move(batch));
}

void Harness::World::Step(Record& record, std::vector<OwnedEvent> batch) {
  StepLog done;
  done.events = std::move(batch);
  for (const OwnedEvent& event : done.events) {
    if (event.call != 0) record.calls_seen.insert(event.call);
  }
  StepCall call(*this, record, "step");
  call.Keep(done.answers);
  const int32_t verdict =
      call.Step(*record.type, record.state.get(), done.events);
  done.number = ++record.steps;
  record.step_due = verdict == ACTORD_STEP_CONTINUE;
  record.blocked = verdict == ACTORD_STEP_BLOCK;
  auto failure = FailureOf(call, verdict);
  if (IsChecked(record)) {
    done.end = call.EndOf(verdict);
    CheckAgain(record, std::move(done));
  }
  Image image;
  if (!failure && verdict != ACTORD_STEP_DONE &&
      verdict != ACTORD_STEP_CONTINUE_AS) {
    if (auto why = TakeImage(record, image)) {
      failure = std::pair(EndKind::kThrew, *std::move(why));
    }
  }
  if (failure) {
    if (failure->first != EndKind::kCancelled) call.LogFailed();
    call.Rollback();
    End(record, failure->first, std::move(failure->second), {});
    return;
  }
  ApplyStep(record, call, verdict, std::move(image));
}

void Harness::World::ApplyStep(Record& record, StepCall& call, int32_t verdict,
                               Image image) {
  for (Effect& effect : call.effects) Commit(record, std::move(effect));
  if (verdict == ACTORD_STEP_DONE) {
    End(record, EndKind::kResult, {}, std::move(call.result));
  } else if (verdict != ACTORD_STEP_CONTINUE_AS) {
    Crash(record, std::move(image));
  } else if (record.cancel_requested) {
    End(record, EndKind::kCancelled,
        Status(Code::kCancelled, std::string(rules::kCancelledInsteadText)),
        {});
  } else {
    StartNextLife(record, *std::move(call.next_life));
  }
}

void Harness::World::StartNextLife(Record& record, NextLife next) {
  Note(std::string(record.type_name()) + " " + FormatPid(record.pid) +
       " begins again");
  std::set<actord_completion> kept;
  for (const OwnedEvent& event : next.unseen) kept.insert(event.call);
  for (const actord_completion call : std::exchange(record.calls_seen, {})) {
    if (kept.contains(call) || !outstanding.contains(call)) continue;
    Complete(call, Code::kAborted,
             OwnedPayload::Text(std::string(rules::kCallNotKeptText)));
  }
  ForgetOtherYields(record, {});
  CloseState(record);
  CloseShadow(record);
  if (!next.method.empty()) {
    record.method = rules::FindMethod(*record.type, next.method);
  }
  record.input = std::move(next.input);
  // The first step gets as many as a step can get.
  const auto rest =
      next.unseen.begin() + static_cast<ptrdiff_t>(std::min(
                                next.unseen.size(), rules::kMaxStepEvents));
  record.messages.insert(record.messages.begin(), std::make_move_iterator(rest),
                         std::make_move_iterator(next.unseen.end()));
  next.unseen.erase(rest, next.unseen.end());
  record.unseen = std::move(next.unseen);
  record.phase = Record::Phase::kStarting;
}

void Harness::World::Commit(Record& record, Effect effect) {
  switch (effect.kind) {
    case Effect::Kind::kSend:
      DeliverMessage(effect.to,
                     {ACTORD_EVENT_MESSAGE, Code::kOk, 0, record.pid,
                      std::move(effect.name), std::move(effect.payload), 0, 0});
      break;
    case Effect::Kind::kSpawn:
      Find(effect.to)->phase = Record::Phase::kStarting;
      break;
    case Effect::Kind::kYield:
      Dispatch(record, std::move(effect));
      break;
    case Effect::Kind::kCall: {
      const actord_completion completion = Open(record, effect);
      BeginCall(record.pid, completion, std::move(effect));
      break;
    }
    case Effect::Kind::kReply:
      Reply(effect.tag, effect.status, std::move(effect.payload));
      break;
    case Effect::Kind::kMonitor:
      Monitor(record, effect.tag, effect.to);
      break;
    case Effect::Kind::kDemonitor:
      Demonitor(record, effect.tag);
      break;
    case Effect::Kind::kLink:
      Link(record, effect.to);
      break;
    case Effect::Kind::kUnlink:
      Unlink(record, effect.to);
      break;
    case Effect::Kind::kPublish:
      published.push_back(
          {record.pid, std::move(effect.name), std::move(effect.payload)});
      break;
    case Effect::Kind::kLog:
      log.push_back({static_cast<LogLevel>(effect.level),
                     std::move(effect.payload.bytes), record.pid});
      break;
    case Effect::Kind::kCancelYield:
      if (const auto it = record.yields.find(effect.tag);
          it != record.yields.end()) {
        Complete(it->second, Code::kCancelled,
                 OwnedPayload::Text("the process gave the yield up"));
      }
      break;
  }
}

}  // namespace actord::testing
