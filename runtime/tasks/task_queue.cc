// The tasks: their queues, their timers and their ends.
#include "runtime/tasks/task_queue.h"

#include <actord/text.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/system/absl_text.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

// The limit of timers that one Tick handles. It bounds the time under the
// owner's lock.
constexpr int kTickTasks = 1000;

}  // namespace

uint64_t TaskQueue::After(uint64_t now_ns, absl::Duration duration) {
  if (duration >= absl::Hours(24 * 365 * 100)) return kNever;
  return now_ns + static_cast<uint64_t>(absl::ToInt64Nanoseconds(duration));
}

TaskQueue::TaskQueue(std::vector<WorkPolicy> policies)
    : policies_(std::move(policies)) {}

TaskQueue::~TaskQueue() = default;

const WorkPolicy& TaskQueue::Task::policy() const {
  return own_policy != nullptr ? *own_policy : *command->policy;
}

TaskQueue::Task* TaskQueue::FindTask(const YieldToken& token) const {
  const auto it = tasks_.find(token);
  return it == tasks_.end() ? nullptr : it->second.get();
}

TaskQueue::Command& TaskQueue::CommandOf(std::string_view name) {
  const auto it = commands_.find(name);
  if (it != commands_.end()) return *it->second;
  auto command = std::make_unique<Command>();
  command->name = std::string(name);
  command->policy = &PolicyFor(policies_, name);
  return *commands_.emplace(command->name, std::move(command)).first->second;
}

void TaskQueue::Add(const YieldToken& token, std::string_view command,
                    uint64_t now_ns, std::unique_ptr<const WorkPolicy> own,
                    const TaskHistory& history) {
  auto task = std::make_unique<Task>();
  task->token = token;
  task->own_policy = std::move(own);
  task->command = &CommandOf(command);
  ++task->command->tasks;
  Task& added = *task;
  tasks_.emplace(token, std::move(task));
  if (history.attempts == 0) {
    Queue(added, End::kBack, now_ns);
    return;
  }
  added.attempts = history.attempts;
  added.last_holder = history.worker_owner;
  added.phase = Phase::kDelayed;
  // At least a whole lease from now: the worker may have renewed it.
  SetTimer(added, std::max(After(now_ns, added.policy().lease),
                           now_ns + std::min(history.lease_left_ns,
                                             kNever - 1 - now_ns)));
}

void TaskQueue::Remove(const YieldToken& token, uint32_t answered_by) {
  Task* const task = FindTask(token);
  if (task == nullptr) return;
  if (task->phase == Phase::kLeased && answered_by != task->attempts) {
    CancelAtHolder(*task, TaskCancel::Reason::kYieldEnded);
  }
  Release(*task);
  Command& command = *task->command;
  tasks_.erase(token);
  if (--command.tasks == 0) commands_.erase(command.name);
}

std::optional<TaskQueue::TaskState> TaskQueue::StateOf(
    const YieldToken& token) const {
  const Task* const task = FindTask(token);
  if (task == nullptr) return std::nullopt;
  TaskState state{.attempts = task->attempts,
                  .leased = task->phase == Phase::kLeased,
                  .lease_until_ns = 0,
                  .worker = {},
                  .worker_owner = task->last_holder,
                  .last_error = task->last_error};
  if (state.leased) {
    state.lease_until_ns = std::min(task->lease_until_ns,  //
                                    task->attempt_until_ns);
    state.worker = task->holder->name;
  }
  return state;
}

// ---- One task.

void TaskQueue::SetTimer(Task& task, uint64_t at_ns) {
  if (task.timer_ns == at_ns) return;
  if (task.timer_ns != kNever) timers_.erase({task.timer_ns, task.token});
  task.timer_ns = at_ns;
  if (at_ns != kNever) timers_.emplace(at_ns, task.token);
}

void TaskQueue::Queue(Task& task, End end, uint64_t now_ns) {
  Command& command = *task.command;
  ACTORD_ASSERT(task.phase == Phase::kOver || task.phase == Phase::kDelayed,
                "task_queue.h (1)");
  task.phase = Phase::kQueued;
  SetTimer(task, After(now_ns, task.policy().start_timeout));
  const auto [it, is_new] = command.processes.try_emplace(task.token.pid);
  ProcessQueue& process = it->second;
  if (is_new) {
    process.turn = command.turns.insert(command.turns.end(), task.token.pid);
  }
  task.place = process.tasks.insert(
      end == End::kFront ? process.tasks.begin() : process.tasks.end(), &task);
  if (is_new && command.turns.size() == 1) MakeReady(command);
  ACTORD_ASSERT(!command.turns.empty(), "task_queue.h (2)");
  WakeOneFor(command);
}

void TaskQueue::Unqueue(Task& task) {
  Command& command = *task.command;
  const auto it = command.processes.find(task.token.pid);
  ProcessQueue& process = it->second;
  process.tasks.erase(task.place);
  if (!process.tasks.empty()) return;
  command.turns.erase(process.turn);
  command.processes.erase(it);
  if (command.turns.empty()) MakeUnready(command);
}

TaskQueue::Task* TaskQueue::PopTask(Command& command) {
  ProcessQueue& process = command.processes.find(command.turns.front())->second;
  Task* const task = process.tasks.front();
  // The next turn belongs to another process.
  command.turns.splice(command.turns.end(), command.turns,
                       command.turns.begin());
  Unqueue(*task);
  return task;
}

void TaskQueue::Release(Task& task) {
  if (task.phase == Phase::kQueued) Unqueue(task);
  if (task.phase == Phase::kLeased) {
    const size_t erased = task.holder->held.erase(task.token);
    ACTORD_ASSERT(erased == 1 && leased_ > 0, "task_queue.h (1)");
    task.holder = nullptr;
    --leased_;
  }
  task.phase = Phase::kOver;
  SetTimer(task, kNever);
}

void TaskQueue::EndYield(Task& task, absl::StatusCode code, std::string text) {
  Release(task);
  endings_.push_back({task.token, code, std::move(text)});
}

// ---- Timers.

uint64_t TaskQueue::NextDue() const {
  return timers_.empty() ? kNever : timers_.begin()->first;
}

void TaskQueue::Tick(uint64_t now_ns) {
  for (int i = 0; i < kTickTasks && NextDue() <= now_ns; ++i) {
    Expire(*FindTask(timers_.begin()->second), now_ns);
  }
}

void TaskQueue::Expire(Task& task, uint64_t now_ns) {
  switch (task.phase) {
    case Phase::kQueued:
      EndYield(task, absl::StatusCode::kDeadlineExceeded,
               absl::StrCat("no worker took ",
                            ToAbsl(CutUtf8(task.command->name, kMaxTextBytes)),
                            " within ",
                            absl::FormatDuration(task.policy().start_timeout)));
      return;
    case Phase::kDelayed:
      if (task.attempts >= task.policy().max_attempts) {
        // Only after a restart, because EndAttempt delays no task without
        // attempts.
        EndAttempt(task, absl::StatusCode::kUnavailable,
                   "its worker has not answered since the daemon was "
                   "restarted",
                   absl::ZeroDuration(), now_ns);
        return;
      }
      Queue(task, End::kBack, now_ns);
      return;
    case Phase::kLeased:
      LoseLease(task, now_ns);
      return;
    case Phase::kOver:  // such a task has no timer
      SetTimer(task, kNever);
  }
}

}  // namespace actord::runtime
