// The effects of a step on other processes beside sends and spawns: calls and
// answers, monitors and links; and which yields it gives up or adopts.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/process/activity.h"
#include "runtime/process/errors.h"
#include "runtime/process/upgrading.h"
#include "runtime/step/step_context.h"

namespace actord::runtime {

uint64_t StepContext::CallProcess(actord_step* step,
                                  const actord_request* request) {
  StepContext& context = Of(step);
  const uint64_t tag = context.NextTag();
  if (!context.MayAct() ||
      !context.Accepts(request->payload, request->topic, "call") ||
      !context.TakesItsReplies()) {
    return tag;
  }
  // The topic's place has room for what the call's envelope needs beside it.
  const CallHeader header{tag};
  char text[sizeof(header) + kMaxNameBytes];
  std::memcpy(text, &header, sizeof(header));
  View(request->topic).copy(text + sizeof(header), kMaxNameBytes);
  Pid to = FromAbi(request->to);
  if (to == Pid{}) to = context.HolderOf(View(request->name));
  Envelope* const envelope = context.NewEnvelope(
      kEventCall, {text, sizeof(header) + request->topic.size},
      request->payload);
  envelope->from = ToAbi(context.input_->self);
  context.Add<CallEffect>(Content(envelope), to, request->timeout_ns);
  ++context.record_.yields;
  return tag;
}

void StepContext::Reply(actord_step* step, uint64_t call, int32_t status,
                        const actord_payload* payload) {
  StepContext& context = Of(step);
  const actord_payload answer =
      payload == nullptr ? actord_payload{} : *payload;
  if (!context.MayAct() || !context.Accepts(answer, {}, "reply")) return;
  Envelope* const envelope =
      context.NewEnvelope(ACTORD_EVENT_COMPLETION, {}, answer);
  envelope->completion.status =
      status == ACTORD_OK ? ACTORD_OK
                          : static_cast<int32_t>(ErrorCodeFromAbi(status));
  context.Add<ReplyEffect>(Content(envelope), call);
}

Pid StepContext::HolderOf(std::string_view name) {
  const Pid holder = world_.HolderOf(name);
  if (record_.keeps_answers) {
    record_.answers.emplace_back(HolderAnswer{std::string(name), holder});
  }
  return holder;
}

bool StepContext::MayTie() {
  if (!MayAct()) return false;
  const uint64_t begun = new_ties_++;
  const bool has_room = world_.HasRoomForTie(input_->self, begun);
  if (record_.keeps_answers) {
    record_.answers.emplace_back(RoomForTieAnswer{begun, has_room});
  }
  if (has_room) return true;
  Misuse(absl::ResourceExhaustedError(
      absl::StrCat("the process has ", Activity::kExitsMax,
                   " monitors, links and exits that it has not seen, which is "
                   "the limit")));
  return false;
}

uint64_t StepContext::Monitor(actord_step* step, const actord_pid* pid) {
  StepContext& context = Of(step);
  const uint64_t tag = context.NextTag();
  if (!context.MayTie()) return tag;
  context.Add<TieEffect>(TieEffect::Kind::kMonitor, FromAbi(*pid), tag);
  return tag;
}

void StepContext::Demonitor(actord_step* step, uint64_t tag) {
  StepContext& context = Of(step);
  if (!context.MayAct()) return;
  context.Add<TieEffect>(TieEffect::Kind::kDemonitor, Pid{}, tag);
}

void StepContext::Link(actord_step* step, const actord_pid* pid) {
  StepContext& context = Of(step);
  if (!context.MayTie()) return;
  context.Add<TieEffect>(TieEffect::Kind::kLink, FromAbi(*pid));
}

void StepContext::Unlink(actord_step* step, const actord_pid* pid) {
  StepContext& context = Of(step);
  if (!context.MayAct()) return;
  context.Add<TieEffect>(TieEffect::Kind::kUnlink, FromAbi(*pid));
}

void StepContext::CancelYield(actord_step* step, uint64_t tag) {
  StepContext& context = Of(step);
  if (!context.MayAct()) return;
  context.Add<CancelEffect>(tag);
}

int32_t StepContext::AdoptYield(actord_step* step, uint64_t tag) {
  StepContext& context = Of(step);
  if (context.adoption_ == nullptr) {
    context.Misuse(absl::FailedPreconditionError(
        "adopt_yield was called; only restore may"));
    return ACTORD_FAILED_PRECONDITION;
  }
  if (!context.adoption_->outstanding.contains(tag)) return ACTORD_NOT_FOUND;
  context.adoption_->adopted.insert(tag);
  return ACTORD_OK;
}

bool StepContext::TieChild(const actord_spawn& spawn, SpawnEffect& effect) {
  if ((spawn.flags & ACTORD_SPAWN_NAME) != 0) {
    Misuse(absl::InvalidArgumentError(
        "a step's spawn has a name, which may be taken; the command "
        "process.spawn can say so"));
    return false;
  }
  if ((spawn.flags & ACTORD_SPAWN_LINK) != 0) {
    if (!MayTie()) return false;
    effect.link = true;
  }
  if ((spawn.flags & ACTORD_SPAWN_MONITOR) != 0) {
    if (!MayTie()) return false;
    effect.monitor = NextTag();
    constexpr size_t kCovered =
        offsetof(actord_spawn, monitor_tag) + sizeof(spawn.monitor_tag);
    if (spawn.struct_size >= kCovered && spawn.monitor_tag != nullptr) {
      *spawn.monitor_tag = effect.monitor;
    }
  }
  return true;
}

}  // namespace actord::runtime
