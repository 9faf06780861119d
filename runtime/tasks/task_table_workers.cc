// The part of TaskTable that hands yields to remote workers as tasks.
#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "runtime/table/home_pid.h"
#include "runtime/tasks/task_table.h"

namespace actord::runtime {

bool TaskTable::MayBeExternal(std::string_view pattern) const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [pattern](const std::string& external) {
                       return PatternsOverlap(pattern, external);
                     });
}

RemoteWorkerId TaskTable::Open(std::vector<std::string> patterns,
                               std::string name, Owner owner,
                               std::shared_ptr<TaskListener> listener) {
  const MutexLock lock(mutex_);
  const RemoteWorkerId id =
      work_.Open(patterns, std::move(name), owner, clock_.UnixNs());
  listeners_.emplace(id, std::move(listener));
  return id;
}

void TaskTable::Close(RemoteWorkerId worker) {
  // Declared before the lock, so that the listener is destroyed without the
  // lock.
  std::shared_ptr<TaskListener> listener;
  const MutexLock lock(mutex_);
  const auto it = listeners_.find(worker);
  if (it == listeners_.end()) return;
  listener = std::move(it->second);
  listeners_.erase(it);
  work_.Close(worker, clock_.MonotonicNs());
  Settle();
}

std::vector<RemoteWorkerInfo> TaskTable::ListWorkers(
    const RemoteWorkerFilter& filter, RemoteWorkerId after,
    size_t count) const {
  const MutexLock lock(mutex_);
  return work_.ListWorkers(filter, after, count);
}

bool TaskTable::AddCredits(RemoteWorkerId worker, uint32_t count) {
  const MutexLock lock(mutex_);
  return work_.AddCredits(worker, count);
}

void TaskTable::StopTasks(RemoteWorkerId worker) {
  const MutexLock lock(mutex_);
  work_.StopTasks(worker);
  Settle();
}

void TaskTable::Heard(RemoteWorkerId worker) {
  const MutexLock lock(mutex_);
  work_.Heard(worker);
  Settle();
}

TaskBatch TaskTable::Take(RemoteWorkerId worker, bool busy,
                          const TaskBatchLimits& limits) {
  TaskBatch batch;
  const MutexLock lock(mutex_);
  const uint64_t now_ns = clock_.MonotonicNs();
  batch.cancels = work_.TakeCancels(worker);
  size_t bytes = 0;
  while (batch.tasks.size() < limits.tasks && bytes < limits.bytes) {
    const auto lease = work_.Take(worker, now_ns);
    if (!lease) break;
    const Waiting& waiting = *Find(lease->token);
    bytes += waiting.yield.payload.bytes.size();
    TaskAttempt& task = batch.tasks.emplace_back();
    task.token = {lease->token, lease->attempt};
    task.yield = waiting.yield;
    task.max_attempts = lease->policy->max_attempts;
    task.lease = lease->policy->lease;
    if (lease->attempt_until_ns != TaskQueue::kNever) {
      task.attempt_deadline_unix_ns =
          clock_.UnixNs() + (lease->attempt_until_ns - now_ns);
    }
    task.progress = waiting.progress;
    if (log_ != nullptr && IsHomePid(task.yield.token.pid)) {
      LogAttempt(task, batch);
    }
  }
  work_.Served(worker, /*rests=*/!busy && batch.empty());
  Settle();
  return batch;
}

void TaskTable::LogAttempt(const TaskAttempt& task, TaskBatch& batch) {
  const auto state = work_.StateOf(task.token.yield);
  const uint64_t position = log_->LogAttempt(
      task.token.yield, task.token.attempt, state ? state->worker : "",
      state ? state->worker_owner : Owner::kNobody,
      static_cast<uint64_t>(absl::ToInt64Nanoseconds(task.lease)));
  // The journal has failed, or the daemon ends: no worker gets the task.
  if (position == 0) batch.tasks.pop_back();
}

CompleteAnswer TaskTable::Fail(const TaskToken& token,
                               const TaskFailure& failure) {
  const MutexLock lock(mutex_);
  if (Find(token.yield) == nullptr) return WhatBecame(token, std::nullopt);
  const CompleteAnswer check = CheckAttempt(token);
  if (check != CompleteAnswer::kAccepted) return check;
  if (!work_.Fail(token.yield, failure, clock_.MonotonicNs())) {
    return CompleteAnswer::kExpired;
  }
  Settle();
  return CompleteAnswer::kAccepted;
}

CompleteAnswer TaskTable::Heartbeat(const TaskToken& token,
                                    std::optional<Payload> progress) {
  const MutexLock lock(mutex_);
  Waiting* const waiting = Find(token.yield);
  if (waiting == nullptr) return WhatBecame(token, std::nullopt);
  const CompleteAnswer check = CheckAttempt(token);
  if (check != CompleteAnswer::kAccepted) return check;
  if (!work_.Heartbeat(token.yield, clock_.MonotonicNs())) {
    return CompleteAnswer::kExpired;
  }
  if (progress) KeepProgress(*waiting, *std::move(progress));
  // The timer only moved to a later time, so no earlier HandleDue is needed.
  return CompleteAnswer::kAccepted;
}

void TaskTable::KeepProgress(Waiting& waiting, Payload progress) {
  const auto charge = [](const Payload& payload) {
    return payload.bytes.size() + payload.content_type.size();
  };
  const size_t before = waiting.progress ? charge(*waiting.progress) : 0;
  const size_t after = charge(progress);
  if (waiting_bytes_ - before + after > limits_.max_external_yield_bytes()) {
    return;
  }
  if (waiting.is_owner_charged) {
    const Owner owner = waiting.yield.owner;
    if (after > before &&
        bytes_of_.Take(owner, after - before) == OwnerLimits::Taken::kRefused) {
      return;
    }
    if (after < before) bytes_of_.Give(owner, before - after);
  }
  waiting_bytes_ += after - before;
  waiting.bytes += after - before;
  waiting.progress = std::move(progress);
}

void TaskTable::DescribeTask(ExternalYield& yield) const {
  const auto state = work_.StateOf(yield.token);
  if (!state) return;
  yield.attempts = state->attempts;
  yield.last_error = std::string(state->last_error);
  yield.has_worker = work_.HasWorker(yield.token);
  if (!state->leased) return;
  yield.worker = std::string(state->worker);
  const uint64_t now_ns = clock_.MonotonicNs();
  yield.lease_unix_ns =
      clock_.UnixNs() + (std::max(state->lease_until_ns, now_ns) - now_ns);
}

void TaskTable::Settle() {
  for (TaskQueue::Ending& ending : work_.TakeEndings()) {
    Waiting* const waiting = Find(ending.token);
    if (waiting == nullptr) continue;
    const YieldResult result{ending.code,
                             {std::move(ending.text), "text/plain"}};
    // The error is short, so there is always room for it. If it is not
    // accepted, something else has completed the yield and is about to call
    // Expire.
    if (complete_(waiting->completion, result, /*is_answer=*/false) ==
        CompleteAnswer::kAccepted) {
      End(ending.token, {}, /*answered_by=*/0);
    }
  }
  bool notify = work_.NextDue() < next_due_ns_;
  for (const RemoteWorkerId id : work_.TakeWoken()) {
    to_wake_.push_back(id);
    notify = true;
  }
  if (!notify) return;
  next_due_ns_ = std::min(next_due_ns_, work_.NextDue());
  alarm_.Notify();
}

uint64_t TaskTable::HandleDue() {
  std::vector<std::shared_ptr<TaskListener>> to_wake;
  uint64_t next_ns = 0;
  uint64_t now_ns = 0;
  {
    const MutexLock lock(mutex_);
    now_ns = clock_.MonotonicNs();
    work_.Tick(now_ns);
    Settle();
    for (const RemoteWorkerId id : std::exchange(to_wake_, {})) {
      const auto it = listeners_.find(id);
      if (it != listeners_.end()) to_wake.push_back(it->second);
    }
    next_ns = next_due_ns_ = work_.NextDue();
  }
  for (const auto& listener : to_wake) listener->Wake();
  if (next_ns == TaskQueue::kNever) return Parker::kForever;
  return next_ns > now_ns ? next_ns - now_ns : 0;
}

TaskTable::WorkStats TaskTable::work_stats() const {
  const MutexLock lock(mutex_);
  return {work_.workers(), work_.leased(), work_.CountUnserved()};
}

}  // namespace actord::runtime
