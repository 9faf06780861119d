#include "handlers/testing/step.h"

#include <actord/pid_text.h>
#include <actord/text.h>

#include <algorithm>
#include <utility>

#include "handlers/rules/process_rules.h"

namespace actord::testing {
namespace {

uint64_t Monitor(actord_step* step, const actord_pid* pid);
void Link(actord_step* step, const actord_pid* pid);

actord_pid Spawn(actord_step* step, const actord_spawn* spawn) {
  StepCall& call = StepCall::Of(step);
  if (!call.MayAct() || !call.Accepts(spawn->input, {}, "spawn")) return {};
  if ((spawn->flags & ACTORD_SPAWN_NAME) != 0) {
    call.Misuse(Code::kInvalidArgument,
                "a step spawns without a name; process.spawn takes one");
    return {};
  }
  const int priority = rules::PriorityOf(*spawn);
  if (!rules::IsPriority(priority)) {
    call.Misuse(Code::kInvalidArgument, "the priority of a spawn is " +
                                            std::to_string(priority) +
                                            "; it must be from 0 to 31");
    return {};
  }
  const Pid child = call.NewChild(*spawn, priority);
  if (child.empty()) return {};
  Effect& effect = call.effects.emplace_back();
  effect.kind = Effect::Kind::kSpawn;
  effect.to = child;
  effect.name = detail::View(spawn->process_type);
  effect.holder = detail::View(spawn->method);
  effect.payload = OwnedPayload(Payload(spawn->input));
  effect.priority = priority;
  if ((spawn->flags & ACTORD_SPAWN_LINK) != 0) Link(step, &child);
  if ((spawn->flags & ACTORD_SPAWN_MONITOR) != 0) {
    const Tag tag = Monitor(step, &child);
    if (uint64_t* const to = rules::MonitorTagOf(*spawn)) *to = tag;
  }
  return child;
}

WorkPolicy PolicyOf(const actord_yield& yield) {
  const actord_work_policy* const policy = rules::PolicyOf(yield);
  if (policy == nullptr) return {};
  const actord_work_policy own = rules::WholePolicy(*policy);
  const auto duration = [](uint64_t ns) {
    return Duration(static_cast<int64_t>(std::min<uint64_t>(ns, INT64_MAX)));
  };
  return {.max_attempts = own.max_attempts,
          .lease = duration(own.lease_ns),
          .attempt_timeout = duration(own.attempt_timeout_ns),
          .start_timeout = duration(own.start_timeout_ns),
          .backoff = duration(own.backoff_ns),
          .max_backoff = duration(own.max_backoff_ns)};
}

uint64_t Yield(actord_step* step, const actord_yield* yield) {
  StepCall& call = StepCall::Of(step);
  const Tag tag = call.record.next_tag++;
  if (!call.MayAct() || !call.Accepts(yield->payload, yield->command, "yield"))
    return tag;
  Effect& effect = call.effects.emplace_back();
  effect.kind = Effect::Kind::kYield;
  effect.tag = tag;
  effect.name = detail::View(yield->command);
  effect.payload = OwnedPayload(Payload(yield->payload));
  effect.timeout_ns = yield->timeout_ns;
  effect.policy = PolicyOf(*yield);
  return tag;
}

void Send(actord_step* step, const actord_pid* to,
          const actord_message* message) {
  StepCall& call = StepCall::Of(step);
  if (!call.MayAct() ||
      !call.Accepts(message->payload, message->topic, "send")) {
    return;
  }
  Effect& effect = call.effects.emplace_back();
  effect.kind = Effect::Kind::kSend;
  effect.to = *to;
  effect.name = detail::View(message->topic);
  effect.payload = OwnedPayload(Payload(message->payload));
}

// Adds an effect on another process, without a payload. Null: the call may not
// have effects.
Effect* Act(actord_step* step, Effect::Kind kind) {
  StepCall& call = StepCall::Of(step);
  if (!call.MayAct()) return nullptr;
  Effect& effect = call.effects.emplace_back();
  effect.kind = kind;
  return &effect;
}

uint64_t BeginCall(actord_step* step, const actord_request* request) {
  StepCall& call = StepCall::Of(step);
  const Tag tag = call.record.next_tag++;
  if (!call.MayAct() ||
      !call.Accepts(request->payload, request->topic, "call")) {
    return tag;
  }
  if (Effect* effect = Act(step, Effect::Kind::kCall)) {
    effect->to = request->to;
    effect->holder = detail::View(request->name);
    effect->tag = tag;
    effect->name = detail::View(request->topic);
    effect->payload = OwnedPayload(Payload(request->payload));
    effect->timeout_ns = request->timeout_ns;
  }
  return tag;
}

void Reply(actord_step* step, uint64_t call, int32_t status,
           const actord_payload* payload) {
  const actord_payload given = payload == nullptr ? actord_payload{} : *payload;
  StepCall& asked = StepCall::Of(step);
  if (!asked.MayAct() || !asked.Accepts(given, {}, "reply")) return;
  if (Effect* effect = Act(step, Effect::Kind::kReply)) {
    effect->tag = call;
    effect->status = ToCode(status);
    effect->payload = OwnedPayload(Payload(given));
  }
}

uint64_t Monitor(actord_step* step, const actord_pid* pid) {
  const Tag tag = StepCall::Of(step).record.next_tag++;
  if (Effect* effect = Act(step, Effect::Kind::kMonitor)) {
    effect->to = *pid;
    effect->tag = tag;
  }
  return tag;
}

void Demonitor(actord_step* step, uint64_t tag) {
  if (Effect* effect = Act(step, Effect::Kind::kDemonitor)) effect->tag = tag;
}

void Link(actord_step* step, const actord_pid* pid) {
  if (Effect* effect = Act(step, Effect::Kind::kLink)) effect->to = *pid;
}

void Unlink(actord_step* step, const actord_pid* pid) {
  if (Effect* effect = Act(step, Effect::Kind::kUnlink)) effect->to = *pid;
}

void CancelYield(actord_step* step, uint64_t tag) {
  if (Effect* effect = Act(step, Effect::Kind::kCancelYield)) {
    effect->tag = tag;
  }
}

void SetResult(actord_step* step, const actord_payload* result) {
  StepCall& call = StepCall::Of(step);
  if (call.Accepts(*result, {}, "result")) {
    call.result = OwnedPayload(Payload(*result));
  }
}

void SetFailure(actord_step* step, int32_t status, actord_bytes message) {
  StepCall& call = StepCall::Of(step);
  call.failure_code = ToCode(rules::ErrorCodeOf(status));
  call.failure = CutUtf8(detail::View(message), kMaxErrorTextBytes);
}

size_t CopyPid(const actord_step* /*step*/, const actord_pid* pid, char* text) {
  return detail::WritePid(*pid, text);
}

int32_t ReadPid(const actord_step* /*step*/, actord_bytes text,
                actord_pid* pid) {
  const auto parsed = Harness::World::ParsePid(detail::View(text));
  if (!parsed) return ACTORD_INVALID_ARGUMENT;
  *pid = *parsed;
  return ACTORD_OK;
}

int32_t AdoptYield(actord_step* step, uint64_t tag) {
  StepCall& call = StepCall::Of(step);
  if (call.adopted == nullptr) {
    call.Misuse(Code::kFailedPrecondition,
                "adopt_yield was called; only restore may");
    return ACTORD_FAILED_PRECONDITION;
  }
  return call.Adopt(tag);
}

void ContinueAs(actord_step* step, const actord_continuation* next) {
  StepCall& call = StepCall::Of(step);
  if (!call.MayAct() ||
      !call.Accepts(next->input, next->method, "continue_as")) {
    return;
  }
  NextLife& life = call.next_life.emplace();
  life.method = detail::View(next->method);
  life.input = OwnedPayload(Payload(next->input));
  for (uint32_t i = 0; i < next->unseen_count; ++i) {
    const actord_event& event = *next->unseen[i];
    if (rules::IsHandedOn(event)) life.unseen.push_back(OwnedEventOf(event));
  }
}

const actord_step_api kApi = {
    .struct_size = sizeof(actord_step_api),
    .reserved = 0,
    .self = [](const actord_step* step) -> actord_pid {
      return StepCall::Of(step).record.pid;
    },
    .parent = [](const actord_step* step) -> actord_pid {
      return StepCall::Of(step).record.parent;
    },
    .unix_time_ns =
        [](actord_step* step) { return StepCall::Of(step).NowNs(); },
    .random = [](actord_step* step) -> uint64_t {
      return StepCall::Of(step).Random();
    },
    .yield = Yield,
    .send = Send,
    .spawn = Spawn,
    .set_result = SetResult,
    .set_failure = SetFailure,
    .format_pid = CopyPid,
    .parse_pid = ReadPid,
    .call = BeginCall,
    .reply = Reply,
    .monitor = Monitor,
    .demonitor = Demonitor,
    .link = Link,
    .unlink = Unlink,
    .cancel_yield = CancelYield,
    .monotonic_ns =
        [](actord_step* step) { return StepCall::Of(step).NowNs(); },
    .max_payload_bytes = [](const actord_step* step) -> size_t {
      return StepCall::Of(step).world.options.max_payload_bytes;
    },
    .adopt_yield = AdoptYield,
    .continue_as = ContinueAs,
    .trace_parent = [](actord_step*) -> actord_bytes { return {}; },
    .find_name = [](actord_step* step, actord_bytes name) -> actord_pid {
      return StepCall::Of(step).FindName(detail::View(name));
    },
    .publish = StepCall::Publish,
    .log = StepCall::Log,
};

}  // namespace

StepCall::StepCall(Harness::World& called_in, Record& called,
                   std::string_view name)
    : actord_step{&kApi},
      world(called_in),
      record(called),
      call_name(name),
      first_tag(called.next_tag) {}

void StepCall::Rollback() {
  for (const Effect& effect : effects) {
    if (effect.kind != Effect::Kind::kSpawn) continue;
    // No other process knows the PID of the child.
    world.Find(effect.to)->phase = Record::Phase::kEnded;
    world.living.erase(effect.to.slot);
  }
  effects.clear();
  record.next_tag = first_tag;
}

void StepCall::Keep(Answers& answers) {
  kept = &answers;
  answers.now_ns = NowNs();
  answers.first_tag = first_tag;
}

int32_t StepCall::Step(const actord_process_type& type, void* state,
                       const std::vector<OwnedEvent>& batch) {
  std::vector<actord_event> events(batch.size());
  std::vector<const actord_event*> pointers;
  for (size_t i = 0; i < batch.size(); ++i) {
    const OwnedEvent& event = batch[i];
    events[i].type = event.type;
    events[i].status = static_cast<int32_t>(event.status);
    events[i].tag = event.tag;
    events[i].from = event.from;
    events[i].topic = detail::ToAbi(event.topic);
    events[i].payload = event.payload.view().ToAbi();
    events[i].call = event.call;
    events[i].reason = event.reason;
    pointers.push_back(&events[i]);
  }
  try {
    return type.step(state, pointers.data(), pointers.size(), this);
  } catch (...) {
    thrown = detail::DescribeException("Step");
    return ACTORD_STEP_THREW;
  }
}

StepEnd StepCall::EndOf(int32_t verdict) const {
  StepEnd end;
  end.verdict = verdict;
  if (!thrown.empty()) {
    end.failure = Status(Code::kInternal, thrown);
  } else if (!misuse.ok()) {
    end.failure = misuse;
  } else if (verdict == ACTORD_STEP_FAIL || verdict == ACTORD_STEP_THREW) {
    end.failure = Status(failure_code, failure);
  } else {
    end.effects = effects;
    if (verdict == ACTORD_STEP_DONE) end.result = result;
    if (verdict == ACTORD_STEP_CONTINUE_AS) end.next_life = next_life;
  }
  return end;
}

uint64_t StepCall::NowNs() const {
  return given != nullptr ? given->now_ns : world.now_ns;
}

uint64_t StepCall::Random() {
  if (given != nullptr) {
    const size_t at = random_given_++;
    return at < given->random.size() ? given->random[at]
                                     : (at + 1) * 0x9e3779b97f4a7c15u;
  }
  const uint64_t bits = world.random();
  if (kept != nullptr) kept->random.push_back(bits);
  return bits;
}

Pid StepCall::NewChild(const actord_spawn& spawn, int priority) {
  if (given != nullptr) {
    const size_t at = spawned_given_++;
    return at < given->spawned.size() ? given->spawned[at] : Pid();
  }
  Pid pid;
  if (world.IsRoom()) {
    Record& child = world.NewRecord(record.pid);
    child.priority = priority;
    child.is_volatile = (spawn.flags & ACTORD_SPAWN_VOLATILE) != 0;
    child.input = OwnedPayload(Payload(spawn.input));
    child.type = world.FindType(detail::View(spawn.process_type));
    if (child.type != nullptr) {
      child.method = rules::FindMethod(*child.type, detail::View(spawn.method));
    }
    pid = child.pid;
  }
  if (kept != nullptr) kept->spawned.push_back(pid);
  return pid;
}

int32_t StepCall::Adopt(Tag tag) {
  int32_t status = ACTORD_OK;
  if (given != nullptr && adopted_given_ < given->adopted.size()) {
    status = given->adopted[adopted_given_++];
  } else if (!record.HasOutstanding(tag)) {
    status = ACTORD_NOT_FOUND;
  }
  if (kept != nullptr) kept->adopted.push_back(status);
  if (status == ACTORD_OK) adopted->insert(tag);
  return status;
}

void StepCall::Misuse(Code code, std::string what) {
  if (misuse.ok()) misuse = Status(code, std::move(what));
}

bool StepCall::MayAct() {
  if (call_name != "step") {
    Misuse(Code::kFailedPrecondition,
           std::string(call_name) + " yielded, sent or spawned; only step may");
    return false;
  }
  if (effects.size() >= rules::kMaxEffects) {
    Misuse(Code::kResourceExhausted,
           "a step asked for more than " + std::to_string(rules::kMaxEffects) +
               " sends, spawns and yields; continue in pieces");
    return false;
  }
  return true;
}

bool StepCall::Accepts(const actord_payload& payload, const actord_bytes& name,
                       const char* what) {
  if (world.Fits(payload, name)) return true;
  Misuse(Code::kInvalidArgument,
         std::string("the payload of a ") + what + " has " +
             std::to_string(payload.bytes.size) + " bytes; the limit is " +
             std::to_string(world.options.max_payload_bytes) +
             ", and 1024 for a topic, a command or a content type");
  return false;
}

}  // namespace actord::testing
