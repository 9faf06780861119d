#include "client/tasks/held_tasks.h"

#include <algorithm>
#include <utility>

namespace actord::client {
namespace {

// Several heartbeats fit into one lease, so that one may be late or lost.
constexpr int kBeatsPerLease = 3;
// Maximum number of items in one message, well below the daemon's limit.
constexpr int kMaxItems = 500;
// Maximum size of the results in one message, unless a single result is larger.
constexpr size_t kMaxBytes = size_t{1} << 20;

absl::Duration BeatInterval(const v1::Task& task) {
  const absl::Duration lease = absl::Seconds(task.lease().seconds()) +
                               absl::Nanoseconds(task.lease().nanos());
  return std::max(lease / kBeatsPerLease, absl::Milliseconds(1));
}

void WriteOutcome(const std::string& token, const TaskOutcome& outcome,
                  v1::WorkRequest& request) {
  if (outcome.retry) {
    v1::TaskFailure& failure = *request.add_failures();
    failure.set_token(token);
    *failure.mutable_error() = outcome.error;
    if (outcome.retry_delay) {
      absl::Duration rest = *outcome.retry_delay;
      failure.mutable_retry_delay()->set_seconds(
          absl::IDivDuration(rest, absl::Seconds(1), &rest));
      failure.mutable_retry_delay()->set_nanos(
          static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
    }
    return;
  }
  v1::CompleteYieldRequest& completion = *request.add_completions();
  completion.set_token(token);
  if (outcome.result) {
    *completion.mutable_result() = *outcome.result;
  } else {
    *completion.mutable_error() = outcome.error;
  }
}

}  // namespace

void HeldTasks::Add(v1::Task task, absl::Time now) {
  auto held = std::make_shared<HeldTask>(std::move(task));
  held->next_beat = now + BeatInterval(held->task);
  held_[held->task.token()] = held;
  queued_.push_back(std::move(held));
}

HeldTasks::Handle HeldTasks::Start() {
  if (queued_.empty()) return nullptr;
  Handle held = std::move(queued_.front());
  queued_.pop_front();
  held->phase = HeldTask::Phase::kRunning;
  return held;
}

void HeldTasks::Finish(const Handle& held, TaskOutcome outcome,
                       absl::Time now) {
  held->phase = HeldTask::Phase::kAnswering;
  // A result may still count after the stream has broken. Nothing else does.
  const bool lost = held->why_over == TaskReport::End::kLost;
  if (held->over && !(lost && outcome.result)) {
    return Remove(held->task.token(),
                  {.task = held->task, .end = held->why_over, .refusal = {}});
  }
  held->outcome = std::move(outcome);
  held->send_at = now;
}

void HeldTasks::Cancel(HeldTask& held, TaskReport::End why) {
  held.over = true;
  held.why_over = why;
  held.cancellation.Cancel();
}

void HeldTasks::Remove(const std::string& token, const TaskReport& report) {
  // Keeps the task alive while it is reported.
  const auto it = held_.find(token);
  const Handle held = it->second;
  held_.erase(it);
  if (report_) report_(report);
}

void HeldTasks::OnCancel(const v1::TaskCancel& cancel) {
  const auto it = held_.find(cancel.token());
  if (it == held_.end()) return;
  HeldTask& held = *it->second;
  switch (held.phase) {
    case HeldTask::Phase::kQueued:
      std::erase(queued_, it->second);
      Remove(cancel.token(), {.task = held.task,
                              .end = TaskReport::End::kCancelled,
                              .refusal = {}});
      return;
    case HeldTask::Phase::kRunning:
      return Cancel(held, TaskReport::End::kCancelled);
    case HeldTask::Phase::kAnswering:
      // The answer to the result says more.
      return;
  }
}

void HeldTasks::OnAnswer(const v1::TaskAnswer& answer, absl::Time now) {
  const auto it = held_.find(answer.token());
  if (it == held_.end()) return;
  HeldTask& held = *it->second;
  const bool accepted =
      answer.answer() == v1::CompleteYieldResponse::ANSWER_ACCEPTED;
  if (answer.kind() == v1::TaskAnswer::KIND_HEARTBEAT) {
    if (!accepted && !answer.has_refusal() &&
        held.phase == HeldTask::Phase::kRunning) {
      Cancel(held, TaskReport::End::kCancelled);
    }
    return;
  }
  if (held.phase != HeldTask::Phase::kAnswering) return;
  const v1::TaskRefusal& refusal = answer.refusal();
  if (answer.has_refusal() && refusal.has_retry_delay()) {
    held.send_at = now + absl::Seconds(refusal.retry_delay().seconds()) +
                   absl::Nanoseconds(refusal.retry_delay().nanos());
    return;
  }
  const bool failed = held.outcome && held.outcome->retry;
  if (answer.has_refusal() && held.outcome && held.outcome->result) {
    return Refuse(held, refusal, now);
  }
  ++answered_;
  Remove(answer.token(),
         {.task = held.task,
          .end = answer.has_refusal() ? TaskReport::End::kRefused
                                      : TaskReport::End::kAnswered,
          .failed = failed,
          .answer = answer.answer(),
          .refusal = refusal,
          .error = held.outcome ? held.outcome->error.message() : ""});
}

void HeldTasks::Refuse(HeldTask& held, const v1::TaskRefusal& refusal,
                       absl::Time now) {
  // No retry: another attempt would produce the same result.
  const TaskReport report{
      .task = held.task, .end = TaskReport::End::kRefused, .refusal = refusal};
  if (report_) report_(report);
  held.outcome =
      TaskOutcome::Error(static_cast<absl::StatusCode>(refusal.code()),
                         "the worker's result: " + refusal.message());
  held.send_at = now;
}

void HeldTasks::OnBroken(absl::Time now) {
  queued_.clear();
  std::vector<Handle> gone;
  for (const auto& [token, held] : held_) {
    if (held->phase == HeldTask::Phase::kRunning) {
      Cancel(*held, TaskReport::End::kLost);
    } else if (held->outcome && held->outcome->result) {
      // It needs no heartbeats.
      held->over = true;
      held->send_at = now;
    } else {
      gone.push_back(held);
    }
  }
  for (const Handle& held : gone) {
    Remove(held->task.token(),
           {.task = held->task, .end = TaskReport::End::kLost, .refusal = {}});
  }
}

bool HeldTasks::TakeDue(absl::Time now, v1::WorkRequest& request) {
  int items = 0;
  size_t bytes = 0;
  for (const auto& [token, held] : held_) {
    if (items >= kMaxItems || bytes >= kMaxBytes) break;
    if (held->send_at <= now) {
      const size_t result_bytes =
          held->outcome->result ? held->outcome->result->data().size() : 0;
      if (max_result_bytes_ != 0 && result_bytes > max_result_bytes_) {
        v1::TaskRefusal refusal;
        refusal.set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
        refusal.set_reason("PAYLOAD_TOO_LARGE");
        refusal.set_message("it has " + std::to_string(result_bytes) +
                            " bytes; the limit is " +
                            std::to_string(max_result_bytes_));
        Refuse(*held, refusal, now);
      }
      WriteOutcome(token, *held->outcome, request);
      if (held->outcome->result) bytes += held->outcome->result->data().size();
      held->send_at = absl::InfiniteFuture();
      ++items;
    }
    if (held->next_beat <= now && !held->over) {
      v1::TaskHeartbeat& heartbeat = *request.add_heartbeats();
      heartbeat.set_token(token);
      if (held->progress) {
        *heartbeat.mutable_progress() = *std::move(held->progress);
        held->progress.reset();
      }
      held->next_beat = now + BeatInterval(held->task);
      ++items;
    }
  }
  return items > 0;
}

absl::Time HeldTasks::NextDue() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [token, held] : held_) {
    next = std::min(next, held->send_at);
    if (!held->over) next = std::min(next, held->next_beat);
  }
  return next;
}

}  // namespace actord::client
