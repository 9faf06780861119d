// Calls the code of a process: Init, Step, Snapshot, Restore and Close. Init
// and Step turn a TurnInput into a StepRecord.
//
// A call into a plugin may cost the thread its worker (hold.h); from then on
// the turn goes on without one, and what becomes ready goes to the global
// queue.
//
// Thread-safety: belongs to one thread that runs turns.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/effects/calls.h"
#include "runtime/process/outcome.h"
#include "runtime/process/process_table.h"
#include "runtime/scheduler/blocking_calls.h"
#include "runtime/settings/options.h"
#include "runtime/step/foreign.h"
#include "runtime/step/step_context.h"
#include "runtime/step/turn_input.h"
#include "runtime/step/verdict.h"
#include "runtime/turn/inbox.h"
#include "runtime/turn/turn.h"

namespace actord::runtime {

struct YieldAdoption;  // upgrading.h

class StepCaller {
 public:
  using Log = std::function<void(LogLevel, std::string_view)>;

  // `sink`: null: no record is kept. `blocking_calls`: for calls of types that
  // say of themselves that they block.
  StepCaller(World& world, const ProcessTable& processes, Calls& calls,
             StepSink* sink, BlockingCalls& blocking_calls, const Log& log,
             const LiveLimits& limits, Lane& lane);
  StepCaller(const StepCaller&) = delete;
  StepCaller& operator=(const StepCaller&) = delete;

  // Of the call that has returned.
  [[nodiscard]] const TurnInput& input() const { return input_; }
  StepRecord& record() { return record_; }

  // Makes a new state and calls Init with the input, which is freed. What
  // Init returned is the record's verdict.
  void Init(Process& process, const Turn& turn);
  // Calls Step with the events of `batch`, at most Inbox::kMaxEvents.
  void Step(Process& process, const Turn& turn,
            std::span<Envelope* const> batch);
  // After Step: why it failed; nullopt: it did not. Takes the text of a
  // failure.
  std::optional<EndCause> FailureOfStep(const Process& process) {
    FillRest(process);
    return FailureOf(input_, record_);
  }
  // The record is being applied: a handler that kept the step's pointer adds
  // nothing any more.
  void SealRecord() { context_.End(); }

  // What these two return: an ACTORD_* status of the call, unless it threw.
  struct Answer {
    Thrown thrown;
    int32_t status = ACTORD_OK;
    [[nodiscard]] bool ok() const { return !thrown && status == ACTORD_OK; }
  };
  // The snapshot is the record's result.
  Answer Snapshot(Process& process, const Turn& turn, const ProcessType& type);
  Answer Restore(Process& process, const Turn& turn, const ProcessType& type,
                 void* state, const actord_restore& restore,
                 YieldAdoption& adoption);
  // Closes and frees the state. What Close throws goes into the log.
  void Close(Process& process, const ProcessType& type, void* state);

 private:
  // Lets another thread have the worker while a call of a type that says of
  // itself that it blocks lasts.
  void GiveWorkerAwayIfBlocking(const actord_process_type& descriptor) {
    if ((descriptor.flags & ACTORD_TYPE_BLOCKS_THREAD) != 0 &&
        lane_.here() != nullptr) [[unlikely]] {
      // If nobody can take it, the watchdog will say so.
      blocking_calls_.GiveAway(lane_.hold());
    }
  }
  // What all calls are given, for that of number `step`. What only the verdict
  // needs, which no call changes, is left to FillRest.
  void FillInput(const Process& process, const Turn& turn, uint64_t step) {
    input_.self = processes_.PidOf(process, turn.generation);
    input_.parent = &process.parent;
    input_.step = step;
    input_.next_tag = process.next_tag;
    input_.max_steps = limits_.max_steps();
    input_.replies = process.replies;
  }
  [[gnu::noinline]] void FillRest(const Process& process);
  // An event that is no message. A call that it holds is owed from now on.
  void WriteEvent(Process& process, const Envelope& envelope,
                  actord_event& event);
  // `thrown`: by the call that has returned.
  void EndCall(const Process& process, const ProcessType& type,
               const Thrown& thrown) {
    if (thrown || record_.has_said || sink_ != nullptr) [[unlikely]] {
      KeepCall(process, type, thrown);
    }
  }
  // Counts what the call did wrong, and keeps its record.
  [[gnu::noinline]] void KeepCall(const Process& process,
                                  const ProcessType& type,
                                  const Thrown& thrown);
  void CountRefusedPayloads();

  StepContext context_;
  StepRecord& record_;  // of context_
  const ProcessTable& processes_;
  Calls& calls_;
  StepSink* const sink_;
  BlockingCalls& blocking_calls_;
  const Log& log_;
  const LiveLimits& limits_;
  Lane& lane_;
  TurnInput input_;
  // What a step is given: event_pointers_[i] is always &events_[i].
  std::array<actord_event, Inbox::kMaxEvents> events_;
  std::array<const actord_event*, Inbox::kMaxEvents> event_pointers_;
};

}  // namespace actord::runtime
