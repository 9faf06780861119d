// The requests of a step: each request is checked and recorded as an effect.
#include <actord/text.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "handlers/rules/log_text.h"
#include "runtime/process/activity.h"
#include "runtime/process/errors.h"
#include "runtime/process/priority.h"
#include "runtime/step/record_format.h"
#include "runtime/step/step_context.h"
#include "runtime/system/absl_text.h"

namespace actord::runtime {
namespace {

// FromAbi, as two words, because GCC would copy four.
Pid ReceiverOf(const actord_pid& to) { return std::bit_cast<Pid>(to); }

}  // namespace

Envelope* StepContext::CopyPolicy(const actord_work_policy& policy) {
  const actord_work_policy copy = rules::WholePolicy(policy);
  Envelope* const kept =
      Envelope::CreateFor(buffers_, ACTORD_EVENT_COMPLETION, sizeof(copy));
  std::memcpy(kept->content(), &copy, sizeof(copy));
  return kept;
}

uint64_t StepContext::Yield(actord_step* step, const actord_yield* yield) {
  StepContext& context = Of(step);
  const uint64_t tag = context.NextTag();
  if (!context.MayAct() ||
      !context.Accepts(yield->payload, yield->command, "yield") ||
      !context.TakesItsReplies()) {
    return tag;
  }
  Envelope* const envelope = context.NewEnvelope(
      ACTORD_EVENT_COMPLETION, View(yield->command), yield->payload);
  envelope->completion.tag = tag;
  context.Add<YieldEffect>(Content(envelope), yield->timeout_ns,
                           Content(context.PolicyOf(*yield)));
  ++context.record_.yields;
  return tag;
}

void StepContext::Send(actord_step* step, const actord_pid* to,
                       const actord_message* message) {
  StepContext& context = Of(step);
  if (!context.MayAct() ||
      !context.Accepts(message->payload, message->topic, "send")) {
    return;
  }
  Envelope* const envelope = context.NewEnvelope(
      ACTORD_EVENT_MESSAGE, View(message->topic), message->payload);
  envelope->from = ToAbi(context.input_.self);
  context.Add<SendEffect>(Content(envelope), ReceiverOf(*to));
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
  const World::ChildAnswer child = context.ReserveChild(*spawn);
  if (child.pid == Pid{}) return {};
  SpawnEffect effect;
  effect.child = child.pid;
  effect.refusal = child.refusal;
  effect.keep_result = (spawn->flags & ACTORD_SPAWN_KEEP_RESULT) != 0;
  constexpr uint32_t kRare =
      ACTORD_SPAWN_LINK | ACTORD_SPAWN_MONITOR | ACTORD_SPAWN_NAME;
  if ((spawn->flags & kRare) != 0 && !context.TieChild(*spawn, effect)) {
    // The step fails, and frees the slot of the child.
    context.Add<SpawnEffect>(std::move(effect));
    return {};
  }
  if (spawn->input.bytes.size != 0 || spawn->input.content_type.size != 0) {
    effect.content =
        Content(context.NewEnvelope(ACTORD_EVENT_MESSAGE, {}, spawn->input));
  }
  context.Add<SpawnEffect>(std::move(effect));
  return ToAbi(child.pid);
}

uint64_t StepContext::CallProcess(actord_step* step,
                                  const actord_request* request) {
  StepContext& context = Of(step);
  const uint64_t tag = context.NextTag();
  if (!context.MayAct() ||
      !context.Accepts(request->payload, request->topic, "call") ||
      !context.TakesItsReplies()) {
    return tag;
  }
  // The envelope's topic holds the header of the call and then the call's
  // topic.
  const CallHeader header{tag};
  char text[sizeof(header) + kMaxLabelBytes];
  std::memcpy(text, &header, sizeof(header));
  View(request->topic).copy(text + sizeof(header), kMaxLabelBytes);
  Pid to = FromAbi(request->to);
  if (to == Pid{}) to = context.HolderOf(View(request->name));
  Envelope* const envelope = context.NewEnvelope(
      kEventCall, {text, sizeof(header) + request->topic.size},
      request->payload);
  envelope->from = ToAbi(context.input_.self);
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

void StepContext::ContinueAs(actord_step* step,
                             const actord_continuation* next) {
  StepContext& context = Of(step);
  if (!context.MayAct() ||
      !context.Accepts(next->input, next->method, "continue_as")) {
    return;
  }
  std::vector<const actord_event*> unseen;
  std::copy_if(next->unseen, next->unseen + next->unseen_count,
               std::back_inserter(unseen), [](const actord_event* event) {
                 return rules::IsHandedOn(*event);
               });
  // A plugin may have made them up. An event that a step got always fits, also
  // if the limit was higher when it came.
  for (const actord_event* const event : unseen) {
    if (Fits(event->payload, event->topic, kPayloadLimitMaxBytes)) continue;
    static_cast<void>(context.RefuseContent(event->payload, "continue_as"));
    return;
  }
  auto continuation = std::make_unique<Continuation>();
  continuation->method = View(next->method);
  continuation->input = FromAbi(next->input);
  EncodeTurn(unseen, StepRecord{}, continuation->unseen);
  context.record_.has_said = true;
  context.record_.continuation = std::move(continuation);
}

bool StepContext::MayTie() {
  if (!MayAct()) return false;
  is_used_ = true;
  const uint64_t begun = new_ties_++;
  const bool has_room = world_.HasRoomForTie(input_.self, begun);
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

void StepContext::Publish(actord_step* step,
                          const actord_message* publication) {
  StepContext& context = Of(step);
  if (!context.MayAct() ||
      !context.Accepts(publication->payload, publication->topic, "publish")) {
    return;
  }
  if (publication->topic.size == 0) {
    context.Misuse(
        absl::InvalidArgumentError(ToAbsl(rules::kNoTopicToPublishText)));
    return;
  }
  Envelope* const envelope = context.NewEnvelope(
      ACTORD_EVENT_MESSAGE, View(publication->topic), publication->payload);
  envelope->from = ToAbi(context.input_.self);
  context.Add<PublishEffect>(Content(envelope));
}

void StepContext::Log(actord_step* step, int32_t level, actord_bytes text) {
  StepContext& context = Of(step);
  if (!context.MayAct()) return;
  std::string shortened;
  actord_payload line{};
  line.bytes = ToAbi(rules::LogText(View(text), shortened));
  context.Add<LogEffect>(
      rules::LogLevelOf(level),
      Content(context.NewEnvelope(ACTORD_EVENT_MESSAGE, {}, line)));
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
    if (uint64_t* const tag = rules::MonitorTagOf(spawn)) {
      *tag = effect.monitor;
    }
  }
  return true;
}

}  // namespace actord::runtime
