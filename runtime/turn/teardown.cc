// performance-notes: Marks not measured alone.
#include "runtime/turn/teardown.h"

#include <utility>

#include "runtime/process/errors.h"
#include "runtime/process/upgrading.h"
#include "runtime/system/assert.h"
#include "runtime/system/fail_point.h"

namespace actord::runtime {
namespace {

// The error for a Submit whose process ended before its Init succeeded.
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

void Teardown::End(Process& process, Turn& turn, EndCause&& cause) {
  inbox_.FreeBatch(turn);
  if (void* const state = std::exchange(process.state, nullptr)) {
    caller_.Close(process, *process.type.load(std::memory_order_relaxed),
                  state);
  }
  if (process.yields != kNoYieldSlot) [[unlikely]] {
    broker_.CloseAll(process, turn.generation, lane_);
  }
  if (process.upgrading != nullptr) [[unlikely]] {
    Upgrading::Forget(process);
  }
  const bool forcing = orders_.terminate.load(std::memory_order_relaxed);
  const bool shutdown =
      forcing || orders_.cancel.load(std::memory_order_relaxed);
  CountEnd(process, turn, cause, forcing);
  processes_.LeaveLimits(process);
  process.init_due = false;
  if (process.input != nullptr) {
    lane_.Free(std::exchange(process.input, nullptr));
  }
  Publish(process, processes_.PidOf(process, turn.generation),
          std::move(cause));
  inbox_.Empty(process, turn);
  GiveBack(process, turn);
  if (shutdown) orders_.on_end();
}

void Teardown::CountEnd(Process& process, const Turn& turn,
                        const EndCause& cause, bool forcing) {
  // The end is counted last: a reader that sees it counted sees its kind
  // counted.
  if (forcing && cause.kind == EndKind::kTerminated) {
    lane_.Count(&Counters::processes_forced);
  }
  // (A call at the end, so that an end by Done needs no stack here.)
  if (cause.kind != EndKind::kResult) [[unlikely]] {
    return CountFailure(process, turn, cause);
  }
  lane_.Count(&Counters::processes_ended);
}

void Teardown::CountFailure(Process& process, const Turn& turn,
                            const EndCause& cause) {
  const Pid pid = processes_.PidOf(process, turn.generation);
  if (ending_.KeepFailure(process, pid, cause, caller_.TakeFailedStep())) {
    lane_.Count(&Counters::process_failures);
  }
  lane_.Count(&Counters::processes_failed);
  lane_.Count(&Counters::processes_ended);
}

void Teardown::Publish(Process& process, const Pid& pid, EndCause&& cause) {
  StepRecord& record = caller_.record();
  if (process.admitted == nullptr) [[likely]] {
    ending_.Publish(process, pid, std::move(cause), record, lane_);
    return;
  }
  Admitted admitted = process.TakeAdmitted();
  absl::Status refusal = RefusalOf(cause);
  ending_.Publish(process, pid, std::move(cause), record, lane_);
  std::move(admitted)(std::move(refusal));
}

void Teardown::GiveBack(Process& process, const Turn& turn) {
  uint64_t delta = Activity::kEnded;
  delta -= Activity::Urgent(turn.word) * Activity::kUrgentOne;
  delta -= Activity::ForMessages(turn.messages_taken, turn.units);
  delta -= turn.word & (Activity::kReady | Activity::kBlocked);
  process.running.store(false, std::memory_order_relaxed);
  WillChange(&process.activity);
  [[maybe_unused]] const uint64_t before =
      process.activity.fetch_add(delta, std::memory_order_acq_rel);
  ACTORD_ASSERT_HOT((before & Activity::kEnded) == 0, "activity.h (4)");
  processes_.Release(lane_.processes(), process);
}

}  // namespace actord::runtime
