// performance-notes: Rare code moved out.
#include "runtime/turn/step_caller.h"

#include <actord/text.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/delivery/traced_events.h"
#include "runtime/process/upgrading.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"
#include "runtime/turn/step_notes.h"

namespace actord::runtime {
namespace {

// Whether a later step will see one of these events. The end of a linked
// process does not count: the step that blocks may have unlinked that process.
bool HasEventToCome(const EnvelopeList& taken) {
  const Envelope* event = taken.head();
  while (event != nullptr &&
         (event->type == kEventLinkedEnd || event->type == kEventTraceNote)) {
    event = taken.After(event);
  }
  return event != nullptr;
}

}  // namespace

StepCaller::StepCaller(World& world, const ProcessTable& processes,
                       Calls& calls, StepSink* sink,
                       BlockingCalls& blocking_calls, const Log& log,
                       const LiveLimits& limits, TurnTraces* traces,
                       Recordings* recordings, Lane& lane)
    : context_(world, lane.buffers(), input_),
      processes_(processes),
      calls_(calls),
      sink_(sink),
      blocking_calls_(blocking_calls),
      log_(log),
      limits_(limits),
      traces_(traces),
      recordings_(recordings),
      lane_(lane) {
  if (traces != nullptr) context_.TraceWith(*traces);
  for (size_t i = 0; i < events_.size(); ++i) event_pointers_[i] = &events_[i];
  record().keeps_answers = sink != nullptr;
}

void StepCaller::Step(Process& process, const Turn& turn,
                      std::span<const actord_event* const> events) {
  FillInput(process, turn, process.steps.load(std::memory_order_relaxed) + 1);
  input_.events = events;
  CallStep(process, events.data(), events.size());
}

void StepCaller::InitAgain(Process& process, const Turn& turn,
                           uint64_t uncounted) {
  input_.life_after_step =
      uint64_t{1} << 63 |
      (process.steps.load(std::memory_order_relaxed) - uncounted);
  Init(process, turn);
  input_.life_after_step = 0;
}

std::optional<EndCause> StepCaller::FailureOfStep(const Process& process) {
  FillRest(process);
  std::optional<EndCause> failure = FailureOf(input_, record());
  if (failure) {
    if (IsFailure(failure->kind)) NoteFailedStep();
    return failure;
  }
  if (record().verdict != ACTORD_STEP_CONTINUE_AS) return failure;
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  const std::string& method = record().continuation->method;
  if (type.FindMethod(method) != ProcessType::kNoSuchMethod) return failure;
  NoteFailedStep();
  return EndCause{EndKind::kThrew, absl::StatusCode::kInvalidArgument,
                  absl::StrCat(ToAbsl(rules::kNoSuchMethodText), ": ", method)};
}

void StepCaller::NoteFailedStep() {
  failed_step_ = std::make_unique<FailedStep>(
      FailedStep{.notes = NoteStep(input_, record())});
}

void StepCaller::KeepLines(StepLines&& lines) {
  if (lines.list.empty()) return;
  if (!failed_step_) failed_step_ = std::make_unique<FailedStep>();
  failed_step_->lines = std::move(lines);
}

std::vector<uint64_t> StepCaller::OwedCallsOf(const Process& process) const {
  std::vector<uint64_t> owed;
  if (process.owed_calls == nullptr) return owed;
  for (const uint64_t call : process.owed_calls->calls) {
    if (calls_.IsOpen(call)) owed.push_back(call);
  }
  return owed;
}

void StepCaller::WriteEvents(Process& process,
                             std::span<Envelope* const> batch) {
  for (size_t i = 0; i < batch.size(); ++i) {
    WriteEvent(process, *batch[i], events_[i]);
  }
}

void StepCaller::Owe(Process& process, uint64_t call) {
  calls_.Owe(process, call);
}

void StepCaller::FillRest(const Process& process) {
  input_.next_tag = process.next_tag;
  input_.yields = process.yields_count.load(std::memory_order_relaxed);
  if (process.upgrading != nullptr) [[unlikely]] {
    input_.yields -= static_cast<uint32_t>(process.upgrading->fenced.size());
  }
  input_.cancel_requested =
      process.cancel_requested.load(std::memory_order_relaxed);
  input_.more_events = HasEventToCome(process.urgent_taken);
}

void StepCaller::CountRefusedPayloads() {
  StepRecord& record = context_.record();
  for (; record.refused_payloads != 0; --record.refused_payloads) {
    limits_.CountRefusedPayload();
  }
}

void StepCaller::BeginNotes() {
  if (recordings_ == nullptr) return;
  noted_unix_ns_ = std::max<uint64_t>(recordings_->clock().UnixNs(), 1);
  noted_ns_ = recordings_->clock().MonotonicNs();
  context_.ShowNextCall();
}

void StepCaller::AddNotes(const Process& process) {
  NotedStep step = NoteStep(input_, record());
  step.unix_ns = std::exchange(noted_unix_ns_, 0);
  step.took_ns = recordings_->clock().MonotonicNs() - noted_ns_;
  FillRest(process);
  // The effects of a failed step do not happen.
  if (!HasFailed(input_, record())) {
    NoteEffects(record(), processes_, step);
  }
  recordings_->Add(input_.self, std::move(step));
}

void StepCaller::KeepCall(Process& process, const ProcessType& type,
                          const Thrown& thrown) {
  StepRecord& record = context_.record();
  if (thrown) {
    record.verdict = StepRecord::kThrown;
    record.has_said = true;
    record.thrown = *thrown;
  }
  CountRefusedPayloads();
  // Before the effects get their traces.
  if (noted_unix_ns_ != 0) AddNotes(process);
  if (sink_ != nullptr) {
    FillRest(process);
    sink_->Keep(type.name.c_str(), input_, record);
    record.answers.clear();
  }
  if (traces_ != nullptr && traces_->current() != nullptr) {
    TraceEffects(process);
    if (traces_->HasSpan()) traces_->EndSpan(FactsOfCall(type));
  }
}

StepFacts StepCaller::FactsOfCall(const ProcessType& type) {
  const StepRecord& record = context_.record();
  StepFacts facts{.process_type = type.name,
                  .pid = FormatPid(input_.self),
                  .step = input_.step,
                  .events = input_.events.size()};
  const bool is_init = input_.step == 0;
  const bool has_failed = !record.misuse.ok() ||
                          (is_init ? record.verdict != ACTORD_OK
                                   : record.verdict == StepRecord::kThrown ||
                                         record.verdict == ACTORD_STEP_FAIL ||
                                         record.verdict == ACTORD_STEP_THREW);
  if (!has_failed) return facts;
  facts.has_failed = true;
  facts.failure =
      ToUtf8(!record.misuse.ok()     ? std::string(record.misuse.message())
             : record.thrown.empty() ? record.failure
                                     : record.thrown,
             StepFacts::kMaxFailureBytes);
  return facts;
}

void StepCaller::NoteInput(const Process& process) {
  if (traces_ == nullptr) return;
  traces_->Note(TracedProcessOf(input_.self), TraceOf(*process.input));
}

void StepCaller::TraceEffects(Process& process) {
  const TraceContext* const trace = traces_->current();
  ACTORD_ASSERT(trace != nullptr, "step_caller.h: the call is traced");
  // The effects of a durable process go into its record, without their trace;
  // DurableApplier traces them afterwards.
  const bool wraps = !process.is_durable();
  const auto wrap = [&](Content& content) {
    if (wraps) content = Content(Traced(content.Take(), trace, lane_));
  };
  StepRecord& record = context_.record();
  for (Effect& effect : record.effects) {
    if (auto* const send = std::get_if<SendEffect>(&effect)) {
      wrap(send->content);
    } else if (auto* const call = std::get_if<CallEffect>(&effect)) {
      traces_->Yielded(call->content->ReadHeader<CallHeader>().call);
      wrap(call->content);
    } else if (auto* const yield = std::get_if<YieldEffect>(&effect)) {
      traces_->Yielded(yield->content->completion.tag);
    } else if (auto* const spawn = std::get_if<SpawnEffect>(&effect)) {
      if (wraps) TraceInput(spawn->content, trace, lane_);
    }
  }
  // Inbox::KeepTraces looks only at processes that have such data.
  if (record.yields != 0 || record.verdict == ACTORD_STEP_CONTINUE) {
    Upgrading::Of(process);
  }
}

StepCaller::UpgradeCallResult StepCaller::Snapshot(Process& process,
                                                   const Turn& turn,
                                                   const ProcessType& type) {
  FillInput(process, turn, process.steps.load(std::memory_order_relaxed));
  context_.Begin(process.next_tag, StepContext::Call::kSnapshot);
  UpgradeCallResult result;
  GiveWorkerAwayIfBlocking(*type.descriptor);
  result.thrown = CallForeign(lane_.hold(), process, "Snapshot", [&] {
    result.status = type.snapshot(process.state, context_.abi());
  });
  CountRefusedPayloads();
  return result;
}

StepCaller::UpgradeCallResult StepCaller::Restore(
    Process& process, const Turn& turn, const ProcessType& type, void* state,
    const actord_restore& restore, YieldAdoption& adoption) {
  FillInput(process, turn, process.steps.load(std::memory_order_relaxed));
  context_.Begin(process.next_tag, StepContext::Call::kRestore, &adoption);
  UpgradeCallResult result;
  GiveWorkerAwayIfBlocking(*type.descriptor);
  result.thrown = CallForeign(lane_.hold(), process, "Restore", [&] {
    result.status = type.restore(state, &restore, context_.abi());
  });
  CountRefusedPayloads();
  return result;
}

void StepCaller::Close(Process& process, const ProcessType& type, void* state) {
  GiveWorkerAwayIfBlocking(*type.descriptor);
  const Thrown thrown = CallForeign(lane_.hold(), process, "Close",
                                    [&] { type.descriptor->close(state); });
  if (thrown) {
    // The exception does not change the process's end, upgrade or result.
    log_(LogLevel::kError,
         absl::StrCat("process type ", type.name, ": Close ", *thrown));
  }
  process.FreeState(lane_.buffers(), state, type.descriptor->state_size);
}

}  // namespace actord::runtime
