// performance-notes: Marks not measured alone.
#include "runtime/turn/ending.h"

#include <memory>
#include <utility>
#include <vector>

#include "runtime/system/fail_point.h"

namespace actord::runtime {

Ending::Seen Ending::MakeUnfindable(Process& process,
                                    const LifecycleLog& lifecycle_log) {
  // All three are seq_cst: see Process::wanted and lifecycle_log.h, (2). The
  // RMW is explained at Run::Kind::kCall.
  process.generation.fetch_add(1, std::memory_order_seq_cst);
  const bool recorded = lifecycle_log.IsRecording();
  FailPoint();
  const uint8_t wanted = process.wanted.load(std::memory_order_seq_cst);
  return {recorded, wanted};
}

bool Ending::KeepFailure(const Process& process, const Pid& pid,
                         const EndCause& cause,
                         std::unique_ptr<FailedStep> step) {
  if (!IsFailure(cause.kind)) return false;
  // Nobody waits for the Init of a process that has begun again.
  const bool is_submission =
      process.steps.load(std::memory_order_relaxed) == 0 &&
      (process.admitted != nullptr || process.parent.Load().empty());
  if (cause.kind == EndKind::kInitRefused && is_submission) return false;
  std::vector<NotedStep> last_steps;
  if ((process.wanted.load(std::memory_order_relaxed) & Wanted::kRecorded) !=
      0) {
    auto recording = parts_.recordings.Find(pid);
    if (recording) last_steps = std::move(recording->steps);
  }
  if (!step) step = std::make_unique<FailedStep>();
  // A recording has the failed step, too.
  if (last_steps.empty() && step->notes) {
    last_steps.push_back(*std::move(step->notes));
  }
  parts_.failures.Add(process, pid, cause, std::move(last_steps), step->lines);
  return true;
}

void Ending::Publish(Process& process, const Pid& pid, EndCause&& cause,
                     StepRecord& record, Lane& lane) {
  if (process.keep_result) {
    PublishKept(process, pid, OutcomeOf(process, pid, std::move(cause), record),
                lane);
    return;
  }
  const Seen seen = MakeUnfindable(process, parts_.lifecycle_log);
  if (!seen.recorded && seen.wanted == 0) [[likely]] {
    record.DropResult();
    return;
  }
  PublishUnkept(process, pid, seen,
                OutcomeOf(process, pid, std::move(cause), record), lane);
}

std::shared_ptr<const EndedTags> Ending::TagsOf(const Process& process,
                                                const Pid& pid) const {
  EndedTags tags{.name = {}, .labels = parts_.labels.Of(process, pid)};
  if ((process.wanted.load(std::memory_order_relaxed) & Wanted::kNamed) != 0) {
    tags.name = parts_.names.NameOf(pid).value_or(std::string());
  }
  if (tags.name.empty() && tags.labels == nullptr) return nullptr;
  return std::make_shared<const EndedTags>(std::move(tags));
}

Outcome Ending::OutcomeOf(const Process& process, const Pid& pid,
                          EndCause&& cause, StepRecord& record) const {
  // Null: the process was spawned with an unknown type.
  const ProcessType* const type = process.type.load(std::memory_order_relaxed);
  uint16_t type_number = type == nullptr ? uint16_t{0} : type->name_number;
  if (type_number == 0 && type != nullptr) [[unlikely]] {
    type_number = parts_.type_names.NumberOf(type->name);
  }
  const bool has_tags = (process.wanted.load(std::memory_order_relaxed) &
                         (Wanted::kNamed | Wanted::kLabelled)) != 0;
  return {.kind = cause.kind,
          .result =
              cause.kind == EndKind::kResult ? record.TakeResult() : Payload{},
          .code = cause.code,
          .message = std::move(cause.message),
          .steps = process.steps.load(std::memory_order_relaxed),
          .started_unix_ns =
              process.started_unix_ns.load(std::memory_order_relaxed),
          .ended_unix_ns = clock_.UnixNs(),
          .owner = process.owner.load(std::memory_order_relaxed),
          .type = type_number,
          .tags = has_tags ? TagsOf(process, pid) : nullptr};
}

void Ending::PublishKept(Process& process, const Pid& pid, Outcome outcome,
                         Lane& lane) {
  Seen seen{};
  std::unique_ptr<Outcome> told;
  parts_.results.Put(
      pid, std::move(outcome), /*keep=*/true, [&](const Outcome& ended) {
        seen = MakeUnfindable(process, parts_.lifecycle_log);
        if (seen.recorded) [[unlikely]] {
          parts_.lifecycle_log.Ended(process, pid, ended);
        }
        if (seen.wanted == 0) [[likely]] {
          return;
        }
        if ((seen.wanted & Observers::NeedOutcomeOf(ended.kind)) != 0) {
          told = std::make_unique<Outcome>(ended);
        }
      });
  if (seen.wanted != 0) [[unlikely]] {
    observers_.Tell({process, pid, told.get()}, seen.wanted, lane);
  }
}

void Ending::PublishUnkept(Process& process, const Pid& pid, const Seen& seen,
                           const Outcome& outcome, Lane& lane) {
  if (seen.recorded) parts_.lifecycle_log.Ended(process, pid, outcome);
  if ((seen.wanted & Wanted::kAwaited) != 0) {
    parts_.results.Put(pid, Outcome(outcome), /*keep=*/false,
                       [](const Outcome&) {});
  }
  observers_.Tell({process, pid, &outcome}, seen.wanted, lane);
}

}  // namespace actord::runtime
