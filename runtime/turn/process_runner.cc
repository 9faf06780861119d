#include "runtime/turn/process_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/actors/ties.h"
#include "runtime/effects/calls.h"
#include "runtime/process/chain.h"
#include "runtime/process/errors.h"
#include "runtime/step/foreign.h"
#include "runtime/step/verdict.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/processor.h"

namespace actord::runtime {
namespace {

// Whether a step will see one of these events. The end of a linked process does
// not count: the step that blocks may have unlinked that process.
bool HasEventToCome(const EnvelopeList& taken) {
  const Envelope* event = taken.head();
  while (event != nullptr && event->type == kEventLinkedEnd) {
    event = taken.After(event);
  }
  return event != nullptr;
}

}  // namespace

ProcessRunner::ProcessRunner(const Parts& parts, Lane& lane,
                             StepContext& context)
    : parts_(parts),
      lane_(lane),
      context_(context),
      record_(context.record()),
      ending_(
          parts.results, parts.lifecycle_log,
          Ending::Observers(parts.names, parts.groups, parts.calls, parts.ties),
          parts.clock) {
  for (size_t i = 0; i < kMaxEvents; ++i) event_pointers_[i] = &events_[i];
  record_.keeps_answers = parts.step_sink != nullptr;
}

void ProcessRunner::RunTurn(Process& process) {
  WillRead(&process.activity);
  // Acquire: activity.h, (3) for urgent events, and (5).
  const uint64_t word = process.activity.load(std::memory_order_acquire);
  Turn turn{.word = word,
            .generation = process.generation.load(std::memory_order_relaxed)};
  WillWrite(&process.urgent_taken);
  WillWrite(&process.running);
  process.running.store(true, std::memory_order_relaxed);
  if (process.state != &process.inline_state) PrefetchForWrite(process.state);
  if (EndIfOrdered(process, turn)) return;
  if (process.init_due && !Admit(process, turn)) return;

  TakeUrgent(process, turn);
  // Acquire: pairs with the catalog's store.
  if (const ProcessType* const newer =
          process.type.load(std::memory_order_relaxed)
              ->upgrade_to.load(std::memory_order_acquire)) [[unlikely]] {
    MayUpgrade(process, turn, *newer);
    if (EndIfOrdered(process, turn)) return;
  }
  if (turn.dropped > kBatch) [[unlikely]] {
    return FinishWithoutStep(process, turn);
  }
  if (!process.urgent_taken.empty() && !FillFromUrgent(process, turn)) return;
  const bool blocked = (word & Activity::kBlocked) != 0;
  if (!blocked) FillFromMessages(process, turn);
  int32_t verdict = blocked ? ACTORD_STEP_BLOCK : ACTORD_STEP_IDLE;
  const bool steps_now = turn.count != 0 || process.step_due;
  if (steps_now) {
    verdict = RunStep(process, turn);
  } else if (!blocked && turn.messages_taken < Activity::Messages(word))
      [[unlikely]] {
    LetSenderGoOn(process);
  }
  for (int steps = 1; GoesOn(process, verdict, steps); ++steps) {
    if (!FillFromUrgent(process, turn)) return;
    if (turn.count != 0) verdict = RunStep(process, turn);
  }
  if (verdict == kHasEnded) return;
  if (process.upgrading != nullptr && steps_now) [[unlikely]] {
    AskAgain(process, turn);
  }
  Finish(process, turn, verdict);
}

void ProcessRunner::LetSenderGoOn(const Process& process) {
  const WorkerQueue* here = lane_.here();
  if (++turns_in_vain_ % SchedulerPolicy::kVainTurnsPerYield != 0 &&
      here != nullptr) {
    const uint32_t others =
        here->ready.NonEmptyFromTop() | parts_.scheduler.GlobalLevels();
    if (here->next != nullptr || others >> process.Priority() != 0) return;
  }
  YieldThread();
}

bool ProcessRunner::GoesOn(const Process& process, int32_t verdict,
                           int steps) const {
  if (verdict != ACTORD_STEP_BLOCK && verdict != ACTORD_STEP_IDLE) return false;
  if (process.urgent_taken.empty() || steps == SchedulerPolicy::kStepsPerTurn) {
    return false;
  }
  const WorkerQueue* here = lane_.here();
  // Not if the thread has lost its worker, something became ready, or something
  // is for which nobody was woken: that waits for the begin of a turn.
  if (here == nullptr || here->next != nullptr || here->is_quiet) return false;
  // As Worker::TakeReady compares: nothing higher is ready.
  const uint32_t levels =
      here->ready.levels() | parts_.scheduler.GlobalLevels();
  return levels >> process.Priority() <= 1;
}

bool ProcessRunner::Admit(Process& process, Turn& turn) {
  process.init_due = false;
  if (process.refusal != nullptr) {
    End(process, turn,
        {EndKind::kInitRefused, absl::StatusCode::kNotFound,
         std::exchange(process.refusal, nullptr)});
    return false;
  }
  if (process.admitted == nullptr) return CallInit(process, turn, nullptr);
  // Its memory may become the state.
  Admitted admitted = process.TakeAdmitted();
  return CallInit(process, turn, &admitted);
}

bool ProcessRunner::CallInit(Process& process, Turn& turn, Admitted* admitted) {
  const ProcessType* type = process.type.load(std::memory_order_relaxed);
  const actord_process_type& descriptor = *type->descriptor;
  process.state = process.NewState(lane_.buffers(), descriptor.state_size);
  FillInput(process, turn, 0);
  input_.init = {.struct_size = sizeof(actord_init),
                 .method = process.method.load(std::memory_order_relaxed),
                 .input = process.input == nullptr ? actord_payload{}
                                                   : process.input->payload()};
  input_.events = {};  // an earlier step's are gone
  context_.Begin(input_, StepContext::Call::kInit);
  GiveWorkerAwayIfBlocking(descriptor);
  EndCall(process, *type, CallForeign(lane_.hold(), process, "Init", [&] {
            record_.verdict =
                descriptor.init(process.state, &input_.init, context_.abi());
          }));
  FreeInput(process);
  if (record_.verdict == ACTORD_OK && record_.misuse.ok()) {
    process.step_due = true;
    const uint64_t lifetime_ns = parts_.limits.max_lifetime_ns();
    if (lifetime_ns != LiveLimits::kForeverNs) [[unlikely]] {
      parts_.lifetimes.Begin(process, turn.generation, lifetime_ns, lane_);
    }
    const Pid pid = parts_.processes.PidOf(process, turn.generation);
    if (parts_.lifecycle_log.IsRecording()) [[unlikely]] {
      parts_.lifecycle_log.Started(process, pid);
    }
    if (admitted != nullptr) std::move (*admitted)(pid);
    if (parts_.orders.cancel.load(std::memory_order_relaxed)) {
      Envelope* cancel = lane_.NewEnvelope(
          ACTORD_EVENT_CANCEL, {},
          {ToAbi(std::string_view("the daemon is shutting down")),
           ToAbi(std::string_view("text/plain"))});
      cancel->generation = turn.generation;
      process.urgent_taken.PushBack(cancel);
    }
    return true;
  }
  // There is nothing to close.
  process.FreeState(lane_.buffers(), std::exchange(process.state, nullptr),
                    descriptor.state_size);
  if (admitted != nullptr) process.KeepAdmitted(std::move(*admitted));
  absl::StatusCode code = absl::StatusCode::kInternal;
  std::string failure = record_.TakeFailure();
  if (!record_.thrown.empty()) {
    failure = absl::StrCat("Init ", record_.thrown);
  } else if (!record_.misuse.ok()) {
    failure = std::string(record_.misuse.message());
  } else {
    code = ErrorCodeFromAbi(record_.verdict);
  }
  End(process, turn, {EndKind::kInitRefused, code, std::move(failure)});
  return false;
}

void ProcessRunner::GiveWorkerAwayIfBlocking(
    const actord_process_type& descriptor) {
  if ((descriptor.flags & ACTORD_TYPE_BLOCKS_THREAD) != 0 &&
      lane_.here() != nullptr) [[unlikely]] {
    // If nobody can take it, the watchdog will say so.
    parts_.blocking_calls->GiveAway(lane_.hold());
  }
}

int32_t ProcessRunner::RunStep(Process& process, Turn& turn) {
  CallStep(process, turn);
  process.steps.store(input_.step, std::memory_order_relaxed);
  lane_.Count(&Counters::steps);
  FreeBatch(turn);
  if (!IsPlain(record_) && EndIfFailed(process, turn)) [[unlikely]] {
    return kHasEnded;
  }
  process.next_tag = record_.next_tag;
  Commit(process);
  if (!EndsLife(input_, record_)) [[likely]] {
    return record_.verdict;
  }
  EndAfterStep(process, turn);
  return kHasEnded;
}

void ProcessRunner::FillRest(const Process& process) {
  input_.yields = process.yields_count.load(std::memory_order_relaxed);
  if (process.upgrading != nullptr) [[unlikely]] {
    input_.yields -= static_cast<uint32_t>(FencedYields(process));
  }
  input_.cancel_requested =
      process.cancel_requested.load(std::memory_order_relaxed);
  input_.more_events = HasEventToCome(process.urgent_taken);
}

void ProcessRunner::CallStep(Process& process, Turn& turn) {
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  const actord_process_type& descriptor = *type.descriptor;
  const size_t count = turn.count;
  for (size_t i = 0; i < count; ++i) {
    if (batch_[i]->type == ACTORD_EVENT_MESSAGE) {
      batch_[i]->WriteMessage(events_[i]);
    } else {
      WriteOtherEvent(process, *batch_[i], events_[i]);
    }
  }
  WillWrite(process.state);
  FillInput(process, turn, process.steps.load(std::memory_order_relaxed) + 1);
  input_.events = {event_pointers_.data(), count};
  context_.Begin(input_, StepContext::Call::kStep);
  GiveWorkerAwayIfBlocking(descriptor);
  EndCall(process, type, CallForeign(lane_.hold(), process, "Step", [&] {
            record_.verdict = descriptor.step(
                process.state, event_pointers_.data(), count, context_.abi());
          }));
  process.step_due = record_.verdict == ACTORD_STEP_CONTINUE;
}

void ProcessRunner::CountRefusedPayloads() {
  for (; record_.refused_payloads != 0; --record_.refused_payloads) {
    parts_.limits.CountRefusedPayload();
  }
}

void ProcessRunner::KeepCall(const Process& process, const ProcessType& type,
                             const Thrown& thrown) {
  if (thrown) {
    record_.verdict = StepRecord::kThrown;
    record_.has_said = true;
    record_.thrown = *thrown;
  }
  CountRefusedPayloads();
  if (parts_.step_sink != nullptr) {
    FillRest(process);
    parts_.step_sink->Keep(type.name.c_str(), input_, record_);
    record_.answers.clear();
  }
}

void ProcessRunner::Commit(Process& process) {
  context_.End();
  std::vector<Effect>& effects = record_.effects;
  Effect* const end = effects.data() + effects.size();
  for (Effect* effect = effects.data(); effect != end;) {
    if (std::holds_alternative<SendEffect>(*effect)) [[likely]] {
      effect = CommitSends(effect, end);
    } else {
      effect = CommitOne(process, effect, end);
    }
  }
  effects.clear();
}

Effect* ProcessRunner::CommitOne(Process& process, Effect* effect,
                                 Effect* end) {
  if (std::holds_alternative<SpawnEffect>(*effect)) {
    return StartChildren(effect, end);
  }
  const Pid& self = input_.self;
  if (auto* const yield = std::get_if<YieldEffect>(effect)) [[likely]] {
    parts_.dispatcher.Apply(std::move(*yield), process, self, lane_);
  } else if (auto* const call = std::get_if<CallEffect>(effect)) {
    parts_.calls.Apply(std::move(*call), process, self, lane_);
  } else if (auto* const reply = std::get_if<ReplyEffect>(effect)) {
    parts_.calls.Apply(std::move(*reply), process, self, lane_);
  } else if (auto* const tie = std::get_if<TieEffect>(effect)) {
    parts_.ties.Apply(TieEffect(*tie), process, self, lane_);
  } else if (auto* const cancel = std::get_if<CancelEffect>(effect)) {
    parts_.broker.Apply(CancelEffect(*cancel), process, self, lane_);
  }
  return effect + 1;
}

Effect* ProcessRunner::CommitSends(Effect* first, Effect* end) {
  constexpr auto kLongestChain = static_cast<ptrdiff_t>(Activity::kMaxChain);
  Effect* const limit = first + std::min(end - first, kLongestChain);
  auto& send = *std::get_if<SendEffect>(first);
  const Pid& to = send.to;
  uint64_t units = send.content->units();
  Effect* next = first + 1;
  for (; next != limit; ++next) {
    const auto* const same = std::get_if<SendEffect>(next);
    if (same == nullptr || same->to != to) break;
    units += same->content->units();
  }
  const auto count = static_cast<size_t>(next - first);
  const auto take = [](Effect& effect) {
    return std::get_if<SendEffect>(&effect)->content.Take();
  };
  Envelope* head = nullptr;
  Envelope* last = nullptr;
  if (count < kShortestChain) {
    head = last = send.content.Take();
    for (Effect* effect = first + 1; effect != next; ++effect) {
      Envelope* const envelope = take(*effect);
      last->SetNext(envelope);
      last = envelope;
    }
  } else {
    head = last = NewChain(lane_.buffers(), count, units);
    std::transform(first, next, MessagesOf(*head).begin(), take);
  }
  if (parts_.delivery.SendTogether(to, head, last, count, units, lane_) !=
      Delivery::Result::kDelivered) [[unlikely]] {
    CommitOneByOne(to, head, last);
  }
  return next;
}

void ProcessRunner::Finish(Process& process, Turn& turn, int32_t verdict) {
  const bool blocked = verdict == ACTORD_STEP_BLOCK;
  const bool again = verdict == ACTORD_STEP_CONTINUE;
  // A step is due after CONTINUE, and in a new version.
  const bool ready = process.step_due || !process.urgent_taken.empty();
  uint64_t delta = 0;
  delta -= Activity::Urgent(turn.word) * Activity::kUrgentOne;
  delta -= Activity::ForMessages(turn.messages_taken, turn.units);
  delta -= turn.word & (Activity::kReady | Activity::kBlocked);
  delta += (ready ? Activity::kReady : 0) + (blocked ? Activity::kBlocked : 0);
  process.running.store(false, std::memory_order_relaxed);
  WillChange(&process.activity);
  // Release: the next turn, on whatever thread, finds all of this one.
  const uint64_t word =
      process.activity.fetch_add(delta, std::memory_order_acq_rel) + delta;
  if (!Activity::Runnable(word)) return;
  if (again) {
    parts_.scheduler.EnqueueBehind(&process, lane_.here());
  } else {
    parts_.scheduler.EnqueueAgain(&process, lane_.here());
  }
}

void ProcessRunner::FreeBatch(Turn& turn) {
  BufferCache& buffers = lane_.buffers();
  for (size_t i = 0; i < turn.count; ++i) {
    Envelope::Destroy(buffers, batch_[i]);
  }
  turn.count = 0;
}

}  // namespace actord::runtime
