// How a process ends: close its state, release what it holds, tell whoever
// wants to know.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/errors.h"
#include "runtime/fail_point.h"
#include "runtime/foreign.h"
#include "runtime/process_runner.h"

namespace actord::runtime {

void ProcessRunner::End(Process& process, Turn& turn, EndKind kind,
                        absl::StatusCode code, std::string message) {
  const Pid pid = parts_.processes.PidOf(process, turn.generation);
  FreeBatch(turn);
  CloseState(process);
  parts_.broker.CloseAll(process, turn.generation, lane_);
  Outcome outcome{
      .kind = kind,
      .result = kind == EndKind::kResult ? context_.TakeResult() : Payload{},
      .code = code,
      .message = std::move(message),
      .steps = process.steps.load(std::memory_order_relaxed),
      .started_unix_ns =
          process.started_unix_ns.load(std::memory_order_relaxed),
      .ended_unix_ns = 0};
  // The clock costs a tenth of a short life; who ended unseen needs no time.
  if (process.keep_result) outcome.ended_unix_ns = parts_.clock.UnixNs();
  const bool forcing = parts_.orders.terminate.load(std::memory_order_relaxed);
  const bool shutdown =
      forcing || parts_.orders.cancel.load(std::memory_order_relaxed);
  // The end is counted last: whoever has seen it has seen what kind it was.
  if (forcing && kind == EndKind::kTerminated) {
    lane_.Count(&Counters::processes_forced);
  }
  if (kind != EndKind::kResult) lane_.Count(&Counters::processes_failed);
  lane_.Count(&Counters::processes_ended);
  AnswerAdmission(process, pid, outcome);
  Publish(process, turn.generation, outcome);
  DropMailbox(process, turn);

  uint64_t delta = Activity::kEnded;
  delta -= Activity::Urgent(turn.word) * Activity::kUrgentOne;
  delta -= Activity::ForMessages(turn.messages_seen, turn.units);
  delta -= turn.word & (Activity::kReady | Activity::kBlocked);
  process.running.store(false, std::memory_order_relaxed);
  WillChange(&process.activity);
  process.activity.fetch_add(delta, std::memory_order_acq_rel);
  parts_.processes.Release(lane_.processes(), process);
  if (shutdown) parts_.on_end();
}

void ProcessRunner::CloseState(Process& process) {
  if (process.state == nullptr) return;
  const ProcessType* type = process.type.load(std::memory_order_relaxed);
  GiveWorkerAwayIfBlocking(*type->descriptor);
  const auto thrown = CallForeign(lane_.hold(), process, "Close", [&] {
    type->descriptor->close(process.state);
  });
  if (thrown) {
    // The process has ended as it has; its result stands.
    parts_.log(LogLevel::kError,
               absl::StrCat("process type ", type->name, ": Close ", *thrown));
  }
  lane_.buffers().Deallocate(std::exchange(process.state, nullptr),
                             StateBytes(*type->descriptor));
}

void ProcessRunner::AnswerAdmission(Process& process, const Pid& pid,
                                    const Outcome& outcome) {
  if (process.input != nullptr) {
    lane_.Free(std::exchange(process.input, nullptr));
  }
  if (process.admitted == nullptr) return;
  const std::unique_ptr<Admitted> admitted(
      std::exchange(process.admitted, nullptr));
  if (outcome.kind == EndKind::kResult) {
    std::move (*admitted)(pid);
  } else if (outcome.kind == EndKind::kTerminated) {
    std::move (*admitted)(Error(absl::StatusCode::kUnavailable,
                                reason::kDraining, outcome.message));
  } else if (outcome.code == absl::StatusCode::kInvalidArgument) {
    std::move (*admitted)(
        InvalidField("input", reason::kInitRefused, outcome.message));
  } else {
    std::move (*admitted)(
        Error(outcome.code, reason::kInitRefused, outcome.message));
  }
}

void ProcessRunner::Publish(Process& process, uint32_t generation,
                            Outcome& outcome) {
  const Pid pid = parts_.processes.PidOf(process, generation);
  // seq_cst: pairs with Await, which first says that it waits and then looks
  // whether the process lives.
  const auto end = [&process, generation] {
    process.generation.store(generation + 1, std::memory_order_seq_cst);
  };
  if (process.keep_result) {
    parts_.results.Put(pid, std::move(outcome), /*keep=*/true, end);
    return;
  }
  end();
  FailPoint();
  if (process.awaited.load(std::memory_order_seq_cst)) {
    outcome.ended_unix_ns = parts_.clock.UnixNs();
    parts_.results.Put(pid, std::move(outcome), /*keep=*/false, [] {});
  }
}

void ProcessRunner::DropMailbox(Process& process, Turn& turn) {
  // Nobody finds the process any more. What is counted by now is all but what
  // senders are about to put in, who found it a moment ago; that is dropped by
  // the next process of this slot, or at the runtime's end.
  turn.word = process.activity.load(std::memory_order_acquire);
  turn.messages_left = Activity::Messages(turn.word) - turn.messages_seen;
  while (Envelope* envelope = PopUrgent(process)) {
    lane_.Free(envelope);
  }
  TakeUrgent(process, turn);
  while (Envelope* envelope = PopUrgent(process)) {
    lane_.Free(envelope);
  }
  while (Envelope* envelope = PopMessage(process, turn)) Drop(envelope);
}

}  // namespace actord::runtime
