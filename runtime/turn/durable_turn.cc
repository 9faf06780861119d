#include "runtime/turn/durable_turn.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "handlers/rules/process_rules.h"
#include "runtime/step/record_format.h"

namespace actord::runtime {
namespace {

// The position of the event in the journal; 0: it has none.
uint64_t PositionOf(const Envelope& envelope) {
  if (envelope.type == kEventLogged) {
    return envelope.ReadHeader<PositionHeader>().position;
  }
  return envelope.type == ACTORD_EVENT_CANCEL ? envelope.completion.tag : 0;
}

EndCause Failed(absl::StatusCode code, std::string message) {
  return {EndKind::kFailed, code, std::move(message)};
}

}  // namespace

DurableTurn::DurableTurn(const Shared& shared, TurnParts& parts, Lane& lane)
    : shared_(shared),
      inbox_(parts.inbox),
      caller_(parts.caller),
      beginning_(parts.beginning),
      applier_(parts.applier),
      teardown_(parts.teardown),
      lane_(lane),
      images_(parts.caller, lane),
      durable_applier_(shared.durable, shared.delivery, shared.calls,
                       shared.undelivered, shared.lane, lane) {}

Pid DurableTurn::PidOf(const Process& process, const Turn& turn) const {
  return shared_.delivery.processes().PidOf(process, turn.generation);
}

int32_t DurableTurn::Run(Process& process, Turn& turn) {
  if (shared_.orders.cancel.load(std::memory_order_relaxed) ||
      shared_.orders.terminate.load(std::memory_order_relaxed)) {
    process.running.store(false, std::memory_order_relaxed);
    return kIsFrozen;
  }
  DurableState& state = durable().StateOf(process);
  inbox_.TakeUrgent(process, turn);
  if (state.end) return AwaitEnd(process, turn, state);
  if (state.is_quarantined ||
      (state.restore_due && !Restore(process, turn, state))) {
    return Idle(process, turn, state);
  }
  if (process.init_due) {
    if (const auto verdict = Begin(process, turn, state)) return *verdict;
  }
  if (!inbox_.FillFromUrgent(process, turn)) {
    return BeginEnd(process, turn, state, inbox_.TakeEndCause(), 0);
  }
  inbox_.FillFromMessages(process, turn);
  return turn.count != 0 || process.step_due ? Step(process, turn, state)
                                             : ACTORD_STEP_IDLE;
}

int32_t DurableTurn::Idle(Process& process, Turn& turn, DurableState& state) {
  process.step_due = false;
  bool is_terminated = false;
  while (Envelope* event = process.urgent_taken.PopFront()) {
    is_terminated |=
        event->type == kEventTerminate && event->generation == turn.generation;
    lane_.Free(event);
  }
  if (!is_terminated) return ACTORD_STEP_BLOCK;
  return BeginEnd(process, turn, state,
                  {EndKind::kTerminated, absl::StatusCode::kAborted,
                   "it was terminated in quarantine"},
                  0);
}

int32_t DurableTurn::AwaitEnd(Process& process, Turn& turn,
                              DurableState& state) {
  bool is_logged = false;
  while (Envelope* event = process.urgent_taken.PopFront()) {
    is_logged |=
        event->type == kEventEndLogged && event->generation == turn.generation;
    lane_.Free(event);
  }
  process.step_due = false;
  if (!is_logged) return ACTORD_STEP_BLOCK;
  EndCause cause = std::move(state.end->cause);
  StepRecord& record = caller_.record();
  record.result = std::move(state.end->result);
  record.has_said = true;
  durable().Forget(process);
  teardown_.End(process, turn, std::move(cause));
  return kHasEnded;
}

void DurableTurn::Quarantine(Process& process, const Turn& turn,
                             DurableState& state, absl::string_view why) {
  state.is_quarantined = true;
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  shared_.log(LogLevel::kError,
              absl::StrCat("process ", FormatPid(PidOf(process, turn)),
                           " of type ", type.name, " is in quarantine: ", why,
                           ". Its image and its mailbox are kept"));
}

bool DurableTurn::Restore(Process& process, const Turn& turn,
                          DurableState& state) {
  const absl::Status status = images_.Restore(process, turn, state.image);
  if (!status.ok()) {
    Quarantine(process, turn, state, status.message());
    return false;
  }
  state.restore_due = false;
  state.image = {};
  BeginLifetime(process, turn);
  return true;
}

std::optional<int32_t> DurableTurn::Begin(Process& process, Turn& turn,
                                          DurableState& state) {
  process.init_due = false;
  Admitted admitted;
  if (process.admitted != nullptr) admitted = process.TakeAdmitted();
  caller_.Init(process, turn);
  const rules::PluginCallEnd end = rules::PluginCallEndOf(
      !caller_.record().thrown.empty(), !caller_.record().misuse.ok(),
      caller_.record().verdict);
  const auto refuse = [&](EndCause cause, bool has_object) {
    if (!has_object) {
      // Freed without Close, because Init has failed.
      process.FreeState(
          lane_.buffers(), std::exchange(process.state, nullptr),
          process.type.load(std::memory_order_relaxed)->descriptor->state_size);
    } else {
      caller_.Close(process, *process.type.load(std::memory_order_relaxed),
                    std::exchange(process.state, nullptr));
    }
    if (admitted) process.KeepAdmitted(std::move(admitted));
    return BeginEnd(process, turn, state, std::move(cause), 0);
  };
  if (end != rules::PluginCallEnd::kOk) {
    return refuse(beginning_.WhyInitFailed(), false);
  }
  process.step_due = true;
  absl::StatusOr<std::string> image = images_.Take(process, turn);
  if (!image.ok()) {
    return refuse({EndKind::kInitRefused, image.status().code(),
                   std::string(image.status().message())},
                  true);
  }
  const Pid pid = PidOf(process, turn);
  const absl::StatusOr<uint64_t> position = durable().Append(records::Started{
      .pid = pid, .turn = TurnOf(process), .image = *std::move(image)});
  if (!position.ok()) {
    return refuse({EndKind::kInitRefused, position.status().code(),
                   std::string(position.status().message())},
                  true);
  }
  BeginLifetime(process, turn);
  durable().releases().After(*position,
                             [&log = shared_.lifecycle_log, &process, pid,
                              done = std::move(admitted)]() mutable {
                               // The process ends behind this release, so it is
                               // still there.
                               if (log.IsRecording()) log.Started(process, pid);
                               if (done) std::move(done)(pid);
                             });
  return std::nullopt;
}

void DurableTurn::BeginLifetime(const Process& process, const Turn& turn) {
  const uint64_t lifetime_ns = shared_.limits.max_lifetime_ns();
  if (lifetime_ns == LiveLimits::kForeverNs) return;
  shared_.lifetimes.Begin(process, turn.generation, lifetime_ns, lane_);
}

records::TurnImage DurableTurn::TurnOf(const Process& process) const {
  return {.next_tag = process.next_tag,
          .step = process.steps.load(std::memory_order_relaxed),
          .verdict = caller_.record().verdict,
          .step_due = process.step_due,
          .cancel_seen = process.cancel_seen};
}

absl::Status DurableTurn::NameCalls(Process& process, const Turn& turn,
                                    DurableState& state) {
  for (Envelope* const envelope : inbox_.batch(turn)) {
    if (envelope->type != kEventCall) continue;
    const absl::StatusOr<uint64_t> position = durable().Append(records::Called{
        .pid = PidOf(process, turn), .caller = FromAbi(envelope->from)});
    if (!position.ok()) return position.status();
    state.calls[*position] = envelope->ReadHeader<CallHeader>().call;
    envelope->WriteHeader(CallHeader{*position});
  }
  return absl::OkStatus();
}

void DurableTurn::OweCalls(Process& process, const Turn& turn,
                           const DurableState& state) {
  if (process.owed_calls == nullptr) return;
  for (const Envelope* const envelope : inbox_.batch(turn)) {
    if (envelope->type != kEventCall) continue;
    const uint64_t position = envelope->ReadHeader<CallHeader>().call;
    process.owed_calls->calls.erase(position);
    process.owed_calls->calls.insert(state.calls.at(position));
  }
}

std::optional<EndCause> DurableTurn::FailureOfStep(const Process& process) {
  const StepRecord& record = caller_.record();
  if (!IsPlain(record)) {
    if (auto failure = caller_.FailureOfStep(process)) return failure;
  }
  for (const Effect& effect : record.effects) {
    if (const char* why = DurableApplier::WhyNotSupported(effect)) {
      return Failed(absl::StatusCode::kUnimplemented, why);
    }
  }
  if (record.verdict == ACTORD_STEP_BLOCK) {
    return Failed(absl::StatusCode::kUnimplemented,
                  "a durable process cannot block yet");
  }
  return std::nullopt;
}

int32_t DurableTurn::Step(Process& process, Turn& turn, DurableState& state) {
  absl::Status named = NameCalls(process, turn, state);
  if (!named.ok()) {
    return BeginEnd(process, turn, state,
                    Failed(named.code(), std::string(named.message())), 0);
  }
  caller_.Step(process, turn, inbox_.batch(turn));
  OweCalls(process, turn, state);
  StepRecord& record = caller_.record();
  process.steps.store(caller_.input().step, std::memory_order_relaxed);
  lane_.Count(&Counters::steps);
  std::optional<EndCause> failure = FailureOfStep(process);
  absl::StatusOr<std::string> image;
  const bool ends = !failure && EndsLife(caller_.input(), record);
  if (!failure && !ends) {
    image = images_.Take(process, turn);
    if (!image.ok()) {
      failure =
          Failed(image.status().code(), std::string(image.status().message()));
    }
  }
  absl::StatusOr<uint64_t> position;
  if (!failure) {
    process.next_tag = record.next_tag;
    records::Step step = RecordOfStep(
        process, turn, image.ok() ? *std::move(image) : std::string());
    if (ends) {
      step.image.reset();
      step.end = EndOf(EndOfLife(caller_.input(), record), record.result);
    }
    position = durable().Append(step);
    if (!position.ok()) {
      failure = Failed(position.status().code(),
                       std::string(position.status().message()));
    }
  }
  if (failure) {
    applier_.Rollback(record);
    return BeginEnd(process, turn, state, *std::move(failure), 0);
  }
  inbox_.FreeBatch(turn);
  caller_.SealRecord();
  durable_applier_.Apply(record, process, state, *position);
  if (!ends) return record.verdict;
  if (record.verdict != ACTORD_STEP_DONE) {
    lane_.Count(&Counters::ended_by_steps);
  }
  return BeginEnd(process, turn, state, EndOfLife(caller_.input(), record),
                  *position);
}

records::Step DurableTurn::RecordOfStep(const Process& process,
                                        const Turn& turn, std::string image) {
  records::Step step{.pid = PidOf(process, turn),
                     .turn = TurnOf(process),
                     .image = std::move(image),
                     .at_ns = durable().NowNs()};
  std::vector<const actord_event*> others;
  const std::span<Envelope* const> batch = inbox_.batch(turn);
  for (size_t i = 0; i < batch.size(); ++i) {
    if (const uint64_t position = PositionOf(*batch[i])) {
      step.consumed.list.push_back({.lsn = position});
    } else {
      others.push_back(caller_.input().events[i]);
    }
  }
  EncodeTurn(others, caller_.record(), step.record);
  return step;
}

records::End DurableTurn::EndOf(const EndCause& cause,
                                const Payload& result) const {
  const bool has_result = cause.kind == EndKind::kResult;
  return {.reason = static_cast<records::EndReason>(cause.kind),
          .result = has_result ? result : Payload{},
          .code = static_cast<int32_t>(cause.code),
          .message = cause.message,
          .unix_ns = shared_.durable.clock().UnixNs(),
          .at_ns = shared_.durable.NowNs()};
}

int32_t DurableTurn::BeginEnd(Process& process, Turn& turn, DurableState& state,
                              EndCause&& cause, uint64_t position) {
  inbox_.FreeBatch(turn);
  StepRecord& record = caller_.record();
  Payload result =
      cause.kind == EndKind::kResult ? record.TakeResult() : Payload{};
  const Pid pid = PidOf(process, turn);
  if (position == 0) {
    const absl::StatusOr<uint64_t> ended = durable().Append(
        records::Ended{.pid = pid, .end = EndOf(cause, result)});
    // Without a record the process never ends; the journal has failed, and the
    // program is about to end.
    position = ended.ok() ? *ended : UINT64_MAX;
  }
  state.end = {std::move(cause), std::move(result)};
  process.step_due = false;
  durable().releases().After(position, [&shared = shared_, pid] {
    struct Run run(Run::Kind::kUrgent,
                   shared.lane.NewEnvelope(kEventEndLogged, {}, {}),
                   Owner::kAny);
    if (shared.delivery.Post(pid, run, shared.lane) != Posted::kDelivered) {
      shared.lane.Free(run.first);
    }
  });
  return ACTORD_STEP_BLOCK;
}

}  // namespace actord::runtime
