#include "runtime/durable_turn/history_replay.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "runtime/step/effect.h"
#include "runtime/step/effect_difference.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

actord_event EventOf(const Consumed& consumed) {
  const Mail& mail = consumed.mail;
  actord_event event{};
  event.status = mail.status;
  event.payload = ToAbi(mail.body->payload);
  switch (mail.kind) {
    case MailKind::kCall:
      event.call = consumed.position;
      [[fallthrough]];
    case MailKind::kMessage:
      event.type = ACTORD_EVENT_MESSAGE;
      event.from = ToAbi(mail.from);
      event.topic = ToAbi(std::string_view(mail.body->topic));
      return event;
    case MailKind::kCompletion:
      event.type = ACTORD_EVENT_COMPLETION;
      event.tag = mail.tag;
      return event;
    case MailKind::kCancel:
    case MailKind::kTerminate:  // no step sees one
      event.type = ACTORD_EVENT_CANCEL;
      return event;
  }
  return event;
}

}  // namespace

absl::StatusOr<std::vector<actord_event>> EventsOf(
    const StepOfHistory& step, const std::vector<const actord_event*>& whole) {
  const size_t count = step.consumed.size() + whole.size();
  const std::string& order = step.step.order;
  std::vector<actord_event> events;
  size_t consumed = 0;
  size_t taken = 0;
  for (size_t i = 0; i < count; ++i) {
    const bool is_consumed =
        order.empty()
            ? consumed < step.consumed.size()
            : i / 8 < order.size() &&
                  (static_cast<unsigned char>(order[i / 8]) >> (i % 8) & 1) !=
                      0;
    if (is_consumed ? consumed == step.consumed.size()
                    : taken == whole.size()) {
      return absl::InvalidArgumentError("the order of its events is damaged");
    }
    events.push_back(is_consumed ? EventOf(step.consumed[consumed++])
                                 : *whole[taken++]);
  }
  return events;
}

absl::Status HistoryReplay::Run(Process& process, const Turn& turn,
                                const DurableState& state) {
  ACTORD_ASSERT(process.state == nullptr,
                "history_replay.h: the process has no state");
  caller_.record().keeps_answers = true;
  differs_at_.reset();
  absl::Status status;
  if (state.image) {
    const ProcessType& type = *process.type.load(std::memory_order_relaxed);
    YieldTags outstanding = state.YieldsOfImage();
    status = AddCompletedIn(state.history, outstanding);
    if (status.ok()) {
      status = images_.Restore(process, turn, type,
                               process.method.load(std::memory_order_relaxed),
                               *state.image, std::move(outstanding));
    }
  } else {
    process.next_tag = state.life_from_tag;
    process.steps.store(state.life_after_step, std::memory_order_relaxed);
    const Payload& input = state.input;
    if (process.input == nullptr &&
        !(input.bytes.empty() && input.content_type.empty())) {
      process.input = lane_.NewEnvelope(ACTORD_EVENT_MESSAGE, {}, ToAbi(input));
    }
    status = Init(process, turn, state.init);
  }
  for (const StepOfHistory& step : state.history) {
    if (!status.ok()) break;
    process.steps.store(step.step.turn.step - 1, std::memory_order_relaxed);
    status = Step(process, turn, step);
  }
  if (!status.ok() && process.state != nullptr) {
    caller_.Close(process, *process.type.load(std::memory_order_relaxed),
                  std::exchange(process.state, nullptr));
  }
  return status;
}

absl::Status HistoryReplay::AddCompletedIn(
    const std::vector<StepOfHistory>& history, YieldTags& tags) {
  for (const StepOfHistory& step : history) {
    for (const Consumed& one : step.consumed) {
      if (one.mail.kind == MailKind::kCompletion) tags.insert(one.mail.tag);
    }
    // The completions that have no record of their own.
    DecodedRecord recorded;
    absl::Status status =
        DecodeTurn(step.step.record, lane_.buffers(), recorded);
    if (!status.ok()) return status;
    for (const actord_event* event : recorded.event_pointers) {
      if (event->type == ACTORD_EVENT_COMPLETION) tags.insert(event->tag);
    }
    FreeContents(recorded, lane_.buffers());
  }
  return absl::OkStatus();
}

absl::Status HistoryReplay::Init(Process& process, const Turn& turn,
                                 const std::string& answers) {
  DecodedRecord recorded;
  absl::Status status = DecodeTurn(answers, lane_.buffers(), recorded);
  if (!status.ok()) return status;
  const absl::Cleanup free_contents = [&] {
    FreeContents(recorded, lane_.buffers());
  };
  world_.Begin(recorded.record.answers);
  caller_.Init(process, turn);
  const std::string asked = world_.End();
  const StepRecord& record = caller_.record();
  std::string why;
  if (!record.thrown.empty()) {
    why = absl::StrCat("it ", record.thrown);
  } else if (record.verdict != ACTORD_OK || !record.misuse.ok()) {
    why = absl::StrCat("it refuses: ", record.failure);
  } else if (!asked.empty()) {
    why = asked;
  } else {
    return absl::OkStatus();
  }
  // The state is freed without Close, because Init has failed.
  if (record.verdict != ACTORD_OK || !record.thrown.empty()) {
    process.FreeState(
        lane_.buffers(), std::exchange(process.state, nullptr),
        process.type.load(std::memory_order_relaxed)->descriptor->state_size);
  }
  differs_at_ = 0;
  return absl::FailedPreconditionError(
      absl::StrCat("Init differs from its record: ", why));
}

absl::Status HistoryReplay::Step(Process& process, const Turn& turn,
                                 const StepOfHistory& step) {
  DecodedRecord recorded;
  absl::Status status = DecodeTurn(step.step.record, lane_.buffers(), recorded);
  if (!status.ok()) return status;
  const absl::Cleanup free_contents = [&] {
    FreeContents(recorded, lane_.buffers());
  };
  const auto events = EventsOf(step, recorded.event_pointers);
  if (!events.ok()) return events.status();
  std::vector<const actord_event*> pointers;
  for (const actord_event& event : *events) {
    pointers.push_back(&event);
    if (event.type == ACTORD_EVENT_CANCEL) {
      process.cancel_requested.store(true, std::memory_order_relaxed);
    }
  }
  world_.Begin(recorded.record.answers);
  caller_.Step(process, turn, pointers);
  std::string why = world_.End();
  if (why.empty()) why = Difference(step.step.record, recorded);
  const StepRecord& record = caller_.record();
  if (why.empty() && record.verdict != step.step.turn.verdict) {
    why = absl::StrCat("it returned ", record.verdict, " instead of ",
                       step.step.turn.verdict);
  }
  if (!record.thrown.empty()) why = absl::StrCat("it ", record.thrown);
  process.next_tag = record.next_tag;
  process.steps.store(step.step.turn.step, std::memory_order_relaxed);
  DropEffects();
  if (why.empty()) return absl::OkStatus();
  differs_at_ = step.step.turn.step;
  return absl::FailedPreconditionError(absl::StrCat(
      "step ", step.step.turn.step, " differs from its record: ", why));
}

std::string HistoryReplay::Difference(const std::string& bytes,
                                      const DecodedRecord& recorded) {
  const StepRecord& record = caller_.record();
  std::string now;
  EncodeTurn(recorded.event_pointers, record, now);
  if (now == bytes) return {};
  std::string how = DifferenceOf(record.effects, recorded.record.effects);
  return how.empty() ? "the answers that it got are not those of the record"
                     : how;
}

void HistoryReplay::DropEffects() {
  StepRecord& record = caller_.record();
  for (Effect& effect : record.effects) FreeContent(effect, lane_);
  record.effects.clear();
  record.answers.clear();
  record.DropResult();
}

}  // namespace actord::runtime
