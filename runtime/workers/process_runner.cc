// performance-notes: Rare code moved out, State in the process.
#include "runtime/workers/process_runner.h"

#include <utility>

#include "runtime/scheduler/scheduler_policy.h"
#include "runtime/scheduler/work_ahead.h"
#include "runtime/step/verdict.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/processor.h"
#include "runtime/system/thread.h"

namespace actord::runtime {

inline void ProcessRunner::Finish(Process& process, Turn& turn,
                                  int32_t verdict) {
  const bool blocked = verdict == ACTORD_STEP_BLOCK;
  // A step is due after CONTINUE and after an upgrade.
  const bool ready = process.step_due || !process.urgent_taken.empty();
  uint64_t delta = 0;
  delta -= Activity::Urgent(turn.word) * Activity::kUrgentOne;
  delta -= Activity::ForMessages(turn.messages_taken, turn.units);
  delta -= turn.word & (Activity::kReady | Activity::kBlocked);
  delta += (ready ? Activity::kReady : 0) + (blocked ? Activity::kBlocked : 0);
  process.running.store(false, std::memory_order_relaxed);
  WillChange(&process.activity);
  // Release: the next turn, on any thread, sees everything that this turn
  // wrote.
  const uint64_t word =
      process.activity.fetch_add(delta, std::memory_order_acq_rel) + delta;
  if (!Activity::Runnable(word)) return;
  if (verdict == ACTORD_STEP_CONTINUE) {
    scheduler_.EnqueueBehind(&process, lane_.here());
  } else {
    scheduler_.EnqueueAgain(&process, lane_.here());
  }
}

void ProcessRunner::RunTurn(Process& process) {
  WillRead(&process.activity);
  // Acquire: activity.h, (3) for urgent events, and (5).
  const uint64_t word = process.activity.load(std::memory_order_acquire);
  ACTORD_ASSERT_HOT(Activity::Runnable(word) && !process.running.load(),
                    "process_runner.h: it came out of a queue, in no turn");
  TurnParts& parts = parts_;
  Turn turn{.word = word,
            .generation = process.generation.load(std::memory_order_relaxed)};
  WillWrite(&process.urgent_taken);
  WillWrite(&process.running);
  process.running.store(true, std::memory_order_relaxed);
  if (process.is_durable()) [[unlikely]] {
    return RunDurable(process, turn);
  }
  if (process.state != &process.inline_state) PrefetchForWrite(process.state);
  if (parts.teardown.EndIfOrdered(process, turn)) return;
  if (process.init_due) {
    if (!Begin(process, turn)) return;
    // An order to end that came while Init ran is seen before the first step.
    // Messages that came meanwhile wait for the next turn: a process that
    // blocks in its first step does not get them. Acquire: as above.
    const uint64_t now = process.activity.load(std::memory_order_acquire);
    turn.word +=
        (Activity::Urgent(now) - Activity::Urgent(word)) * Activity::kUrgentOne;
  }

  parts.inbox.TakeUrgent(process, turn);
  // Acquire: pairs with the catalog's store.
  if (const ProcessType* const newer =
          process.type.load(std::memory_order_relaxed)
              ->upgrade_to.load(std::memory_order_acquire)) [[unlikely]] {
    parts.upgrader.BeforeStep(process, turn, *newer);
    if (parts.teardown.EndIfOrdered(process, turn)) return;
  }
  if (turn.dropped > Inbox::kBatch) [[unlikely]] {
    return FinishWithoutStep(process, turn);
  }
  if (!process.urgent_taken.empty() && !FillFromUrgent(process, turn)) return;
  const bool blocked = (word & Activity::kBlocked) != 0;
  if (!blocked) parts.inbox.FillFromMessages(process, turn);
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
    parts.inbox.KeepTraces(process, turn);
    parts.upgrader.AfterSteps(process, turn);
  }
  Finish(process, turn, verdict);
}

void ProcessRunner::RunDurable(Process& process, Turn& turn) {
  const int32_t verdict = durable_->Run(process, turn);
  if (verdict != DurableTurn::kHasEnded && verdict != DurableTurn::kIsFrozen) {
    Finish(process, turn, verdict);
  }
}

bool ProcessRunner::Begin(Process& process, Turn& turn) {
  auto refusal = parts_.beginning.Begin(process, turn);
  if (!refusal) [[likely]]
    return true;
  parts_.teardown.End(process, turn, *std::move(refusal));
  return false;
}

void ProcessRunner::LetSenderGoOn(const Process& process) {
  if (++turns_in_vain_ % SchedulerPolicy::kVainTurnsPerYield == 0 ||
      !HasWorkAhead(lane_.here(), scheduler_, process.Priority())) {
    YieldThread();
  }
}

bool ProcessRunner::GoesOn(const Process& process, int32_t verdict,
                           int steps) const {
  if (verdict != ACTORD_STEP_BLOCK && verdict != ACTORD_STEP_IDLE) return false;
  return !process.urgent_taken.empty() &&
         steps != SchedulerPolicy::kStepsPerTurn &&
         MayStepAgain(lane_.here(), scheduler_, process.Priority());
}

int32_t ProcessRunner::RunStep(Process& process, Turn& turn) {
  TurnParts& parts = parts_;  // read once: the calls below may write to memory
  parts.caller.Step(process, turn, parts.inbox.batch(turn));
  const TurnInput& input = parts.caller.input();
  StepRecord& record = parts.caller.record();
  process.steps.store(input.step, std::memory_order_relaxed);
  lane_.Count(&Counters::steps);
  if (!IsPlain(record)) [[unlikely]] {
    // A failure notes the events, so their bytes are still there.
    if (EndIfFailed(process, turn)) return kHasEnded;
    parts.inbox.FreeBatch(turn);
    if (record.verdict == ACTORD_STEP_CONTINUE_AS) {
      return BeginAgain(process, turn);
    }
  }
  parts.inbox.FreeBatch(turn);
  if (process.next_tag != record.next_tag) process.next_tag = record.next_tag;
  parts.caller.SealRecord();
  parts.applier.Apply(record, process, input.self);
  if (!EndsLife(input, record)) [[likely]]
    return record.verdict;
  EndAfterStep(process, turn);
  return kHasEnded;
}

bool ProcessRunner::EndIfFailed(Process& process, Turn& turn) {
  auto failure = parts_.caller.FailureOfStep(process);
  if (!failure) return false;
  parts_.caller.KeepLines(parts_.applier.Rollback(parts_.caller.record()));
  parts_.teardown.End(process, turn, *std::move(failure));
  return true;
}

int32_t ProcessRunner::BeginAgain(Process& process, Turn& turn) {
  TurnParts& parts = parts_;
  const TurnInput& input = parts.caller.input();
  StepRecord& record = parts.caller.record();
  process.next_tag = record.next_tag;
  parts.caller.SealRecord();
  if (!BeginsAgain(input, record)) {
    parts.applier.Apply(record, process, input.self);
    EndAfterStep(process, turn);
    return kHasEnded;
  }
  if (auto no_room = parts.continuing.Prepare(
          process, turn, parts.caller.OwedCallsOf(process))) {
    parts.caller.KeepLines(parts.applier.Rollback(record));
    parts.teardown.End(process, turn, *std::move(no_room));
    return kHasEnded;
  }
  parts.applier.Apply(record, process, input.self);
  parts.continuing.EndLife(process, turn, nullptr);
  if (auto refusal = parts.beginning.BeginAgain(process, turn)) {
    parts.teardown.End(process, turn, *std::move(refusal));
    return kHasEnded;
  }
  return ACTORD_STEP_CONTINUE_AS;
}

void ProcessRunner::EndAfterStep(Process& process, Turn& turn) {
  EndCause cause = EndOfLife(parts_.caller.input(), parts_.caller.record());
  if (cause.kind == EndKind::kLimit) lane_.Count(&Counters::ended_by_steps);
  parts_.teardown.End(process, turn, std::move(cause));
}

void ProcessRunner::FinishWithoutStep(Process& process, Turn& turn) {
  Finish(process, turn,
         (turn.word & Activity::kBlocked) != 0 ? ACTORD_STEP_BLOCK
                                               : ACTORD_STEP_IDLE);
}

}  // namespace actord::runtime
