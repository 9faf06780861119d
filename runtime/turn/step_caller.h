// Calls the code of a process: Init, Step, Snapshot, Restore and Close. Init
// and Step turn a TurnInput into a StepRecord.
//
// A call into a plugin may cost the thread its worker (hold.h); the turn then
// continues without a worker, and processes that become ready go to the global
// queue.
//
// Thread-safety: belongs to one thread that runs turns.
// performance-notes: Rare code moved out, Inlined by force.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/delivery/traced_events.h"
#include "runtime/effects/calls.h"
#include "runtime/process/listed/failed_step.h"
#include "runtime/process/outcome.h"
#include "runtime/recording/recordings.h"
#include "runtime/scheduler/blocking_calls.h"
#include "runtime/settings/options.h"
#include "runtime/step/foreign.h"
#include "runtime/step/step_context.h"
#include "runtime/step/turn_input.h"
#include "runtime/step/verdict.h"
#include "runtime/table/process_table.h"
#include "runtime/turn/inbox.h"
#include "runtime/turn/turn.h"

namespace actord::runtime {

struct YieldAdoption;  // upgrading.h

class StepCaller {
 public:
  using Log = LogSink;

  // If `sink` is null, no record is kept. `blocking_calls`: for calls of types
  // with ACTORD_TYPE_BLOCKS_THREAD. If `traces` is null, no call is traced. If
  // `recordings` is null, no process is recorded.
  StepCaller(World& world, const ProcessTable& processes, Calls& calls,
             StepSink* sink, BlockingCalls& blocking_calls, const Log& log,
             const LiveLimits& limits, TurnTraces* traces,
             Recordings* recordings, Lane& lane);
  StepCaller(const StepCaller&) = delete;
  StepCaller& operator=(const StepCaller&) = delete;

  // The input of the call that has returned.
  [[nodiscard]] const TurnInput& input() const { return input_; }
  StepRecord& record() { return context_.record(); }

  // Makes a new state, calls Init with the process's input, and frees the
  // input. The record's verdict is the value that Init returned. (Inlined: see
  // Step.)
  [[gnu::always_inline]] void Init(Process& process, const Turn& turn);
  // Init for a process that begins again, with the arguments of continue_as.
  // `uncounted`: as for Step.
  [[gnu::noinline]] void InitAgain(Process& process, const Turn& turn,
                                   uint64_t uncounted = 0);
  // Calls Step with the events of `batch`, at most Inbox::kMaxEvents. (Inlined:
  // every step passes through it, and GCC inlines without being told only what
  // has one caller.) `uncounted`: how many steps of the process have no number.
  // The number of this step is Process::steps - uncounted + 1.
  [[gnu::always_inline]] void Step(Process& process, const Turn& turn,
                                   std::span<Envelope* const> batch,
                                   uint64_t uncounted = 0);
  // Calls Step with events that are in no mailbox.
  void Step(Process& process, const Turn& turn,
            std::span<const actord_event* const> events);
  // After Step: the reason of its failure, whose text it takes; nullopt: the
  // step did not fail.
  [[gnu::noinline]] std::optional<EndCause> FailureOfStep(
      const Process& process);
  // Keeps the log lines of a step that has failed.
  void KeepLines(StepLines&& lines);
  // The step that has failed, with its lines; null: there is none, or it was
  // taken.
  std::unique_ptr<FailedStep> TakeFailedStep() {
    return std::move(failed_step_);
  }
  // Of a durable process, whose end waits for the disk.
  void PutFailedStep(std::unique_ptr<FailedStep> step) {
    failed_step_ = std::move(step);
  }
  // The calls that a volatile process has not answered and whose callers still
  // wait.
  [[nodiscard]] std::vector<uint64_t> OwedCallsOf(const Process& process) const;
  // Called before the record is applied: a handler that has kept the step's
  // pointer can add nothing any more.
  void SealRecord() { context_.End(); }

  // The answer of Snapshot or Restore: an ACTORD_* status, unless the call
  // threw.
  struct UpgradeCallResult {
    Thrown thrown;
    int32_t status = ACTORD_OK;
    [[nodiscard]] bool ok() const { return !thrown && status == ACTORD_OK; }
  };
  // The snapshot becomes the record's result.
  UpgradeCallResult Snapshot(Process& process, const Turn& turn,
                             const ProcessType& type);
  UpgradeCallResult Restore(Process& process, const Turn& turn,
                            const ProcessType& type, void* state,
                            const actord_restore& restore,
                            YieldAdoption& adoption);
  // Closes and frees the state. An exception from Close is logged.
  void Close(Process& process, const ProcessType& type, void* state);

 private:
  // Gives the worker to another thread for the call if the type has
  // ACTORD_TYPE_BLOCKS_THREAD.
  void GiveWorkerAwayIfBlocking(const actord_process_type& descriptor) {
    if ((descriptor.flags & ACTORD_TYPE_BLOCKS_THREAD) != 0 &&
        lane_.here() != nullptr) [[unlikely]] {
      // If no thread can take the worker, the watchdog logs it.
      blocking_calls_.GiveAway(lane_.hold());
    }
  }
  // Fills the part of the input that all calls need; `step` is the number of
  // the call. FillRest fills the part that only the verdict needs and that no
  // call changes.
  [[gnu::always_inline]] void FillInput(const Process& process,
                                        const Turn& turn, uint64_t step) {
    processes_.WritePidOf(process, turn.generation, input_.self);
    input_.parent = &process.parent;
    input_.step = step;
    const uint64_t max_steps = limits_.max_steps();
    if (input_.max_steps != max_steps) input_.max_steps = max_steps;
    input_.replies = process.replies;
  }
  [[gnu::noinline]] void FillRest(const Process& process);
  // The part of Step behind the events, of which there are `count` at
  // `events`; input_.events says the same.
  [[gnu::always_inline]] void CallStep(Process& process,
                                       const actord_event* const* events,
                                       size_t count);
  // If the event is a call, the process owes its answer from now on. (A
  // function of its own for completions would cost each yield a call and
  // registers.)
  void WriteEvent(Process& process, const Envelope& envelope,
                  actord_event& event) {
    if (envelope.type == ACTORD_EVENT_MESSAGE) {
      envelope.WriteMessage(event);
    } else {
      envelope.WriteOther(event);
      // The answer to a call that was handed on is owed already.
      if (event.call != 0 && envelope.type != kEventKeptCall) [[unlikely]] {
        Owe(process, event.call);
      }
    }
  }
  [[gnu::noinline]] void Owe(Process& process, uint64_t call);
  // (Not inlined: the loop would cost a step of one event registers.)
  [[gnu::noinline]] void WriteEvents(Process& process,
                                     std::span<Envelope* const> batch);
  // `thrown`: the exception of the call that has returned.
  void EndCall(Process& process, const ProcessType& type,
               const Thrown& thrown) {
    if (thrown || record().has_said) [[unlikely]] {
      KeepCall(process, type, thrown);
    }
  }
  // The process is recorded: its step, which begins, will be noted.
  [[gnu::noinline]] void BeginNotes();
  // The step that has returned has failed.
  void NoteFailedStep();
  void AddNotes(const Process& process);
  // Counts the call's refused payloads, passes its record to the sink, notes
  // the step of a recorded process, and traces the effects.
  [[gnu::noinline]] void KeepCall(Process& process, const ProcessType& type,
                                  const Thrown& thrown);
  void CountRefusedPayloads();
  // The trace of the process's input becomes that of Init.
  [[gnu::noinline]] void NoteInput(const Process& process);
  // Carries the trace of a step on to its effects. Precondition: the call that
  // has returned is traced.
  void TraceEffects(Process& process);
  // The facts for the span of the call that has returned.
  [[nodiscard]] StepFacts FactsOfCall(const ProcessType& type);

  StepContext context_;
  const ProcessTable& processes_;
  Calls& calls_;
  StepSink* const sink_;
  BlockingCalls& blocking_calls_;
  const Log& log_;
  const LiveLimits& limits_;
  TurnTraces* const traces_;      // null: no call is traced
  Recordings* const recordings_;  // null: no process is recorded
  Lane& lane_;
  TurnInput input_;
  // When the step began that is to be noted; 0: it is not.
  uint64_t noted_unix_ns_ = 0;
  uint64_t noted_ns_ = 0;
  std::unique_ptr<FailedStep> failed_step_;
  // The events for a step: event_pointers_[i] is always &events_[i].
  std::array<actord_event, Inbox::kMaxEvents> events_;
  std::array<const actord_event*, Inbox::kMaxEvents> event_pointers_;
};

inline void StepCaller::Init(Process& process, const Turn& turn) {
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  const actord_process_type& descriptor = *type.descriptor;
  process.state = process.NewState(lane_.buffers(), descriptor.state_size);
  FillInput(process, turn, 0);
  input_.init = {.struct_size = sizeof(actord_init),
                 .method = process.method.load(std::memory_order_relaxed),
                 .input = process.input == nullptr ? actord_payload{}
                                                   : process.input->payload()};
  input_.events = {};  // the events of an earlier step are freed
  if (process.input != nullptr && process.input->type == kEventTraced)
      [[unlikely]] {
    NoteInput(process);
  }
  context_.Begin(process.next_tag, StepContext::Call::kInit);
  GiveWorkerAwayIfBlocking(descriptor);
  EndCall(process, type, CallForeign(lane_.hold(), process, "Init", [&] {
            record().verdict =
                descriptor.init(process.state, &input_.init, context_.abi());
          }));
  if (process.input != nullptr) {
    lane_.Free(std::exchange(process.input, nullptr));
  }
}

inline void StepCaller::CallStep(Process& process,
                                 const actord_event* const* events,
                                 size_t count) {
  const ProcessType& type = *process.type.load(std::memory_order_relaxed);
  const actord_process_type& descriptor = *type.descriptor;
  context_.Begin(process.next_tag, StepContext::Call::kStep);
  GiveWorkerAwayIfBlocking(descriptor);
  EndCall(process, type, CallForeign(lane_.hold(), process, "Step", [&] {
            record().verdict =
                descriptor.step(process.state, events, count, context_.abi());
          }));
  process.step_due = record().verdict == ACTORD_STEP_CONTINUE;
}

inline void StepCaller::Step(Process& process, const Turn& turn,
                             std::span<Envelope* const> batch,
                             uint64_t uncounted) {
  const size_t count = batch.size();
  if (count == 1) [[likely]] {
    WriteEvent(process, *batch[0], events_[0]);
  } else if (count != 0) {
    WriteEvents(process, batch);
  }
  if ((process.wanted.load(std::memory_order_relaxed) & Wanted::kRecorded) != 0)
      [[unlikely]] {
    BeginNotes();
  }
  WillWrite(process.state);
  FillInput(process, turn,
            process.steps.load(std::memory_order_relaxed) - uncounted + 1);
  if (input_.events.size() != count) {
    input_.events = {event_pointers_.data(), count};
  }
  CallStep(process, event_pointers_.data(), count);
}

}  // namespace actord::runtime
