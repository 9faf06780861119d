#include "runtime/step/step_context.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/process/errors.h"

namespace actord::runtime {
const actord_step_api StepContext::kApi = {
    .struct_size = sizeof(actord_step_api),
    .reserved = 0,
    .self = Self,
    .parent = Parent,
    .unix_time_ns = UnixTimeNs,
    .random = RandomBits,
    .yield = Yield,
    .send = Send,
    .spawn = Spawn,
    .set_result = SetResult,
    .set_failure = SetFailure,
    .format_pid = [](const actord_step*, const actord_pid* pid,
                     char* text) { return CopyPidText(*pid, text); },
    .parse_pid = [](const actord_step*, actord_bytes text, actord_pid* pid)
        -> int32_t { return ReadPidText(text, pid); },
    .call = CallProcess,
    .reply = Reply,
    .monitor = Monitor,
    .demonitor = Demonitor,
    .link = Link,
    .unlink = Unlink,
    .cancel_yield = CancelYield,
    .monotonic_ns = MonotonicNs,
    .max_payload_bytes = [](const actord_step* step) -> size_t {
      return Of(step).max_payload_bytes_;
    },
    .adopt_yield = AdoptYield,
};

StepContext::StepContext(const Catalog& catalog, ProcessTable& processes,
                         const LiveLimits& limits, const Clock& clock,
                         const Names& names, const Watches& watches, Lane& lane,
                         uint64_t seed)
    : actord_step{&kApi},
      catalog_(catalog),
      processes_(processes),
      limits_(limits),
      clock_(clock),
      names_(names),
      watches_(watches),
      lane_(lane),
      random_(seed) {}

void StepContext::ForgetSaid() {
  has_said_ = false;
  if (!misuse_.ok()) misuse_ = absl::OkStatus();
  DropResult();
  failure_code_ = absl::StatusCode::kUnknown;
  failure_.clear();
}

const ProcessType* StepContext::FindProcessType(std::string_view name) {
  // Relaxed: whoever was told of a newer version comes after its store.
  if (last_type_ == nullptr ||
      !last_type_->in_force.load(std::memory_order_relaxed) ||
      !IsSameName(last_type_->name, name)) {
    last_type_ = catalog_.FindProcessType(name);
  }
  return last_type_;
}

void StepContext::Rollback() {
  for (Effect& effect : effects_) {
    FreeContent(effect, lane_);
    if (const auto* spawn = std::get_if<SpawnEffect>(&effect)) {
      // Nobody else has its PID.
      processes_.Unreserve(lane_.processes(),
                           processes_.Reserved(spawn->child));
    }
  }
  effects_.clear();
  process_->next_tag = first_tag_;
  DropResult();
}

void StepContext::Misuse(absl::Status status) {
  has_said_ = true;
  if (misuse_.ok()) misuse_ = std::move(status);
}

bool StepContext::RefuseToAct() {
  if (call_ != Call::kStep) {
    const char* const name = call_ == Call::kInit       ? "init"
                             : call_ == Call::kNone     ? "a call that was over"
                             : call_ == Call::kSnapshot ? "snapshot"
                                                        : "restore";
    Misuse(absl::FailedPreconditionError(
        absl::StrCat(name, " yielded, sent or spawned; only step may")));
  } else {
    Misuse(absl::ResourceExhaustedError(
        absl::StrCat("a step asked for more than ", kMaxEffects,
                     " sends, spawns and yields; continue in pieces")));
  }
  return false;
}

bool StepContext::RefuseToYield() {
  Misuse(absl::ResourceExhaustedError(absl::StrCat(
      "the process yields faster than its steps take what was answered at "
      "once: ",
      process_->replies, " completions wait")));
  return false;
}

bool StepContext::RefuseContent(const actord_payload& payload,
                                const char* what) {
  if (payload.bytes.size > max_payload_bytes_) limits_.CountRefusedPayload();
  Misuse(absl::InvalidArgumentError(
      absl::StrCat("the payload of a ", what, " has ", payload.bytes.size,
                   " bytes; the limit is ", max_payload_bytes_,
                   ", and 1024 for a topic, a command or a content type")));
  return false;
}

actord_pid StepContext::Self(const actord_step* step) {
  return ToAbi(Of(step).self_);
}

actord_pid StepContext::Parent(const actord_step* step) {
  return ToAbi(Of(step).process_->parent());
}

uint64_t StepContext::UnixTimeNs(actord_step* step) {
  StepContext& context = Of(step);
  if (context.unix_time_ns_ == 0) {
    context.unix_time_ns_ = context.clock_.UnixNs();
  }
  return context.unix_time_ns_;
}

uint64_t StepContext::RandomBits(actord_step* step) {
  return Of(step).random_.Next();
}

Envelope* StepContext::CopyPolicy(const actord_work_policy& policy) {
  actord_work_policy copy{};
  std::memcpy(&copy, &policy,
              std::min<size_t>(policy.struct_size, sizeof(copy)));
  Envelope* const kept = Envelope::CreateFor(
      lane_.buffers(), ACTORD_EVENT_COMPLETION, sizeof(copy));
  std::memcpy(kept->content(), &copy, sizeof(copy));
  return kept;
}

uint64_t StepContext::Yield(actord_step* step, const actord_yield* yield) {
  StepContext& context = Of(step);
  const uint64_t tag = context.process_->next_tag++;
  if (!context.MayAct() ||
      !context.Accepts(yield->payload, yield->command, "yield") ||
      !context.TakesItsReplies()) {
    return tag;
  }
  Envelope* const envelope =
      Envelope::Create(context.lane_.buffers(), ACTORD_EVENT_COMPLETION,
                       View(yield->command), yield->payload);
  envelope->completion.tag = tag;
  context.Add<YieldEffect>(Content(envelope), yield->timeout_ns,
                           Content(context.PolicyOf(*yield)));
  ++context.yields_;
  return tag;
}

void StepContext::Send(actord_step* step, const actord_pid* to,
                       const actord_message* message) {
  StepContext& context = Of(step);
  if (!context.MayAct() ||
      !context.Accepts(message->payload, message->topic, "send")) {
    return;
  }
  Envelope* const envelope =
      Envelope::Create(context.lane_.buffers(), ACTORD_EVENT_MESSAGE,
                       View(message->topic), message->payload);
  envelope->from = ToAbi(context.self_);
  context.Add<SendEffect>(Content(envelope), FromAbi(*to));
}

actord_pid StepContext::Spawn(actord_step* step, const actord_spawn* spawn) {
  StepContext& context = Of(step);
  if (!context.MayAct() || !context.Accepts(spawn->input, {}, "spawn")) {
    return {};
  }
  const int priority = PriorityOf(*spawn);
  if (!IsPriority(priority)) {
    context.Misuse(absl::InvalidArgumentError(
        absl::StrCat("the priority of a spawn is ", priority,
                     "; it must be from 0 to ", kPriorities - 1)));
    return {};
  }
  SpawnRefusal refusal = SpawnRefusal::kNone;
  const ProcessType* type = context.FindProcessType(View(spawn->process_type));
  uint32_t method = 0;
  if (type == nullptr) {
    refusal = SpawnRefusal::kUnknownType;
  } else {
    method = type->FindMethod(View(spawn->method));
    if (method == ProcessType::kNoSuchMethod) {
      method = 0;
      refusal = SpawnRefusal::kUnknownMethod;
    }
  }
  auto no_room = ProcessTable::NoRoom::kInTable;
  Process* child = context.processes_.Reserve(
      context.lane_.processes(), type, static_cast<uint16_t>(method),
      static_cast<uint8_t>(priority), context.self_, UnixTimeNs(step), no_room);
  if (child == nullptr) {
    context.lane_.Count(no_room == ProcessTable::NoRoom::kForType
                            ? &Counters::refused_processes_of_type
                            : &Counters::refused_processes);
    return {};
  }
  auto& effect = context.Add<SpawnEffect>();
  effect.child = context.processes_.PidOf(
      *child, child->generation.load(std::memory_order_relaxed));
  effect.refusal = refusal;
  effect.keep_result = (spawn->flags & ACTORD_SPAWN_KEEP_RESULT) != 0;
  constexpr uint32_t kRare =
      ACTORD_SPAWN_LINK | ACTORD_SPAWN_MONITOR | ACTORD_SPAWN_NAME;
  if ((spawn->flags & kRare) != 0 && !context.WatchChild(*spawn, effect)) {
    return {};  // the step fails, and gives the child's place back
  }
  if (spawn->input.bytes.size != 0 || spawn->input.content_type.size != 0) {
    effect.content = Content(Envelope::Create(
        context.lane_.buffers(), ACTORD_EVENT_MESSAGE, {}, spawn->input));
  }
  return ToAbi(effect.child);
}

void StepContext::SetResult(actord_step* step, const actord_payload* result) {
  StepContext& context = Of(step);
  if (context.Accepts(*result, {}, "result")) {
    // A result is charged by its size, so it keeps no memory of a longer one.
    context.DropResult();
    if (result->bytes.size != 0) {
      context.has_said_ = true;
      context.result_.bytes = View(result->bytes);
    }
    if (result->content_type.size != 0) {
      context.has_said_ = true;
      context.result_.content_type = View(result->content_type);
    }
  }
}

void StepContext::SetFailure(actord_step* step, int32_t status,
                             actord_bytes message) {
  StepContext& context = Of(step);
  context.has_said_ = true;
  context.failure_code_ = ErrorCodeFromAbi(status);
  // A failure's text is for people; a page of it is enough.
  constexpr size_t kMaxTextBytes = 4096;
  context.failure_ = std::string(View(message).substr(0, kMaxTextBytes));
}

}  // namespace actord::runtime
