// How a process ends: why, close its state, release what it holds. The order of
// all of it stands in ending.h.
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/process/chain.h"
#include "runtime/process/errors.h"
#include "runtime/step/foreign.h"
#include "runtime/step/verdict.h"
#include "runtime/system/fail_point.h"
#include "runtime/system/thread.h"
#include "runtime/turn/process_runner.h"

namespace actord::runtime {
namespace {

// What a Submit is told whose process has ended before Init returned well.
absl::Status RefusalOf(const EndCause& cause) {
  if (cause.kind == EndKind::kTerminated) {
    return Error(absl::StatusCode::kUnavailable, reason::kDraining,
                 cause.message);
  }
  if (cause.code == absl::StatusCode::kInvalidArgument) {
    return InvalidField("input", reason::kInitRefused, cause.message);
  }
  return Error(cause.code, reason::kInitRefused, cause.message);
}

}  // namespace

bool ProcessRunner::EndIfFailed(Process& process, Turn& turn) {
  FillRest(process);
  auto failure = FailureOf(input_, record_);
  if (!failure) return false;
  Rollback();
  End(process, turn, *std::move(failure));
  return true;
}

void ProcessRunner::Rollback() {
  for (Effect& effect : record_.effects) {
    FreeContent(effect, lane_);
    if (const auto* spawn = std::get_if<SpawnEffect>(&effect)) {
      // Nobody else has its PID.
      parts_.processes.Unreserve(lane_.processes(),
                                 parts_.processes.Reserved(spawn->child));
    }
  }
  record_.effects.clear();
  record_.DropResult();
}

void ProcessRunner::End(Process& process, Turn& turn, EndCause&& cause) {
  FreeBatch(turn);
  if (void* const state = std::exchange(process.state, nullptr)) {
    CloseState(process, *process.type.load(std::memory_order_relaxed), state);
  }
  parts_.broker.CloseAll(process, turn.generation, lane_);
  if (process.upgrading != nullptr) [[unlikely]] {
    ForgetUpgrading(process);
  }
  const bool forcing = parts_.orders.terminate.load(std::memory_order_relaxed);
  const bool shutdown =
      forcing || parts_.orders.cancel.load(std::memory_order_relaxed);
  // The end is counted last: whoever has seen it has seen what kind it was.
  if (forcing && cause.kind == EndKind::kTerminated) {
    lane_.Count(&Counters::processes_forced);
  }
  if (cause.kind != EndKind::kResult) lane_.Count(&Counters::processes_failed);
  lane_.Count(&Counters::processes_ended);
  parts_.processes.LeaveType(process);
  process.init_due = false;
  FreeInput(process);
  const Pid pid = parts_.processes.PidOf(process, turn.generation);
  if (process.admitted == nullptr) [[likely]] {
    ending_.Publish(process, pid, std::move(cause), record_, lane_);
  } else {
    Admitted admitted = process.TakeAdmitted();
    absl::Status refusal = RefusalOf(cause);
    ending_.Publish(process, pid, std::move(cause), record_, lane_);
    std::move(admitted)(std::move(refusal));
  }
  DropMailbox(process, turn);

  uint64_t delta = Activity::kEnded;
  delta -= Activity::Urgent(turn.word) * Activity::kUrgentOne;
  delta -= Activity::ForMessages(turn.messages_taken, turn.units);
  delta -= turn.word & (Activity::kReady | Activity::kBlocked);
  process.running.store(false, std::memory_order_relaxed);
  WillChange(&process.activity);
  process.activity.fetch_add(delta, std::memory_order_acq_rel);
  parts_.processes.Release(lane_.processes(), process);
  if (shutdown) parts_.on_end();
}

void ProcessRunner::EndAfterStep(Process& process, Turn& turn) {
  if (record_.verdict != ACTORD_STEP_DONE) {
    lane_.Count(&Counters::ended_by_steps);
  }
  End(process, turn, EndOfLife(input_, record_));
}

void ProcessRunner::CloseState(Process& process, const ProcessType& type,
                               void* state) {
  GiveWorkerAwayIfBlocking(*type.descriptor);
  const Thrown thrown = CallForeign(lane_.hold(), process, "Close",
                                    [&] { type.descriptor->close(state); });
  if (thrown) {
    // The process has ended, or goes on, as it has; its result stands.
    parts_.log(LogLevel::kError,
               absl::StrCat("process type ", type.name, ": Close ", *thrown));
  }
  process.FreeState(lane_.buffers(), state, type.descriptor->state_size);
}

void ProcessRunner::DropMailbox(Process& process, Turn& turn) {
  // Nobody finds the process any more. What comes later is of senders who found
  // it a moment ago; it is dropped by the next process of this slot, or at the
  // runtime's end.
  turn.word = process.activity.load(std::memory_order_acquire);
  while (Envelope* envelope = PopUrgent(process)) {
    lane_.Free(envelope);
  }
  TakeUrgent(process, turn);
  while (Envelope* envelope = PopUrgent(process)) {
    lane_.Free(envelope);
  }
  while (true) {
    process.TakeMessages([&](Envelope* envelope) {
      DropMessages(process, turn, envelope);
      return true;
    });
    // Whoever delivers a call looks for the end afterwards (Delivery::Post), so
    // what is behind this look answers for itself; what is before it must not
    // stay behind a gap, which its producer is about to close, a few
    // instructions further on.
    if (process.messages.IsEmpty()) return;
    YieldThread();
  }
}

void ProcessRunner::DropMessages(const Process& process, Turn& turn,
                                 Envelope* envelope) {
  const Pid to = parts_.processes.PidOf(process, envelope->generation);
  if (envelope->type != kEventChain) {
    turn.Took(1, envelope->units());
    Drop(envelope, to, DeadLetterReason::kDroppedAtEnd);
    return;
  }
  const std::span<Envelope*> messages = MessagesOf(*envelope);
  turn.Took(messages.size(), UnitsOf(*envelope));
  for (Envelope* message : messages) {
    Drop(message, to, DeadLetterReason::kDroppedAtEnd);
  }
  lane_.Free(envelope);
}

void ProcessRunner::Drop(Envelope* envelope, const Pid& to,
                         DeadLetterReason why) {
  if (envelope->type != ACTORD_EVENT_MESSAGE) [[unlikely]] {
    DropOther(envelope, to, why);
  } else {
    parts_.dead_letters.Add(envelope, to, why, lane_);
  }
}

}  // namespace actord::runtime
