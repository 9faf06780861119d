// The rules of a lease, the time for which a worker holds a task:
//
//   granted   Take: the worker has credits, and is not silent. An attempt
//             begins.
//   renewed   Heartbeat: the lease begins anew; the attempt's deadline stays.
//   expired   LoseLease: no heartbeat came in time, or the attempt has reached
//             its deadline. In the first case the worker is silent: it is
//             granted nothing until it gives a sign of life.
//   lost      LoseLeasesOf: the worker has been closed.
//   failed    Fail: the worker has reported an error.
//   ended     Release: the yield has an answer, a timeout or a cancel, or its
//             process has ended.
//
// After expired, lost and failed, EndAttempt queues the task again: at once, or
// after Fail's pause. A task without attempts left ends its yield.
#include <actord/text.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"
#include "runtime/tasks/task_queue.h"

namespace actord::runtime {

std::optional<TaskQueue::Lease> TaskQueue::Take(RemoteWorkerId id,
                                                uint64_t now_ns) {
  RemoteWorker* const worker = FindWorker(id);
  if (worker == nullptr || worker->credits == 0 || worker->silent) {
    return std::nullopt;
  }
  Unrest(*worker);
  const size_t patterns = worker->patterns.size();
  for (size_t i = 0; i < patterns; ++i) {
    const size_t at = (worker->next_pattern + i) % patterns;
    Pattern& pattern = *worker->patterns[at];
    if (pattern.turns.empty()) continue;
    worker->next_pattern = at + 1;
    Command& command = *pattern.turns.front();
    // The next turn belongs to another command.
    pattern.turns.splice(pattern.turns.end(), pattern.turns,
                         pattern.turns.begin());
    ACTORD_ASSERT(!command.turns.empty(), "task_queue.h (2)");
    Task& task = *PopTask(command);
    Grant(task, *worker, now_ns);
    return Lease{task.token, task.attempts, &task.policy(),
                 task.attempt_until_ns};
  }
  return std::nullopt;
}

void TaskQueue::Grant(Task& task, RemoteWorker& worker, uint64_t now_ns) {
  --worker.credits;
  ++task.attempts;
  task.phase = Phase::kLeased;
  task.holder = &worker;
  task.last_holder = worker.owner;
  worker.held.insert(task.token);
  ++leased_;
  task.attempt_until_ns = After(now_ns, task.policy().attempt_timeout);
  BeginLease(task, now_ns);
}

void TaskQueue::BeginLease(Task& task, uint64_t now_ns) {
  task.lease_until_ns = After(now_ns, task.policy().lease);
  SetTimer(task, std::min(task.lease_until_ns, task.attempt_until_ns));
}

bool TaskQueue::Heartbeat(const YieldToken& token, uint64_t now_ns) {
  Task* const task = FindTask(token);
  if (task == nullptr || task->phase != Phase::kLeased) return false;
  BeginLease(*task, now_ns);
  return true;
}

void TaskQueue::LoseLease(Task& task, uint64_t now_ns) {
  const WorkPolicy& policy = task.policy();
  const bool silent = task.lease_until_ns <= now_ns;
  if (silent) {
    task.holder->silent = true;
    Unrest(*task.holder);
  }
  CancelAtHolder(task, TaskCancel::Reason::kLeaseLost);
  EndAttempt(task, absl::StatusCode::kDeadlineExceeded,
             silent
                 ? absl::StrCat("its worker gave no sign of life for ",
                                absl::FormatDuration(policy.lease))
                 : absl::StrCat("the attempt took longer than ",
                                absl::FormatDuration(policy.attempt_timeout)),
             absl::ZeroDuration(), now_ns);
}

void TaskQueue::LoseLeasesOf(const RemoteWorker& worker, uint64_t now_ns) {
  // A copy, because EndAttempt removes each token from `held`.
  const absl::flat_hash_set<YieldToken> held = worker.held;
  for (const YieldToken& token : held) {
    EndAttempt(*FindTask(token), absl::StatusCode::kUnavailable,
               "its worker went away", absl::ZeroDuration(), now_ns);
  }
}

bool TaskQueue::Fail(const YieldToken& token, const TaskFailure& failure,
                     uint64_t now_ns) {
  Task* const task = FindTask(token);
  if (task == nullptr || task->phase != Phase::kLeased) return false;
  const absl::Duration pause = failure.retry_delay.value_or(
      BackoffAfter(task->policy(), task->attempts));
  EndAttempt(*task, failure.code, failure.text, pause, now_ns);
  return true;
}

void TaskQueue::EndAttempt(Task& task, absl::StatusCode code,
                           std::string_view text, absl::Duration pause,
                           uint64_t now_ns) {
  Release(task);
  task.last_error = CutUtf8(text, RemoteTasks::kMaxErrorBytes);
  const WorkPolicy& policy = task.policy();
  if (task.attempts >= policy.max_attempts) {
    EndYield(task, code,
             absl::StrCat(ToAbsl(CutUtf8(task.command->name, kMaxTextBytes)),
                          " failed after ", task.attempts,
                          task.attempts == 1 ? " attempt: " : " attempts: ",
                          ToAbsl(CutUtf8(text, kMaxTextBytes))));
  } else if (pause <= absl::ZeroDuration()) {
    // The task has waited before, so it is the oldest of its process and comes
    // first.
    Queue(task, End::kFront, now_ns);
  } else {
    task.phase = Phase::kDelayed;
    SetTimer(task, After(now_ns, pause));
  }
}

void TaskQueue::CancelAtHolder(Task& task, TaskCancel::Reason reason) {
  task.holder->cancels.push_back({{task.token, task.attempts}, reason});
  Wake(*task.holder);
}

}  // namespace actord::runtime
