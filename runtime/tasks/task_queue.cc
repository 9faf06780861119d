// The life of tasks: queueing, leases, retries and timers.
#include "runtime/tasks/task_queue.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/system/assert.h"

namespace actord::runtime {
namespace {

// The limit of timers that one Tick handles. It bounds the time under the
// owner's lock.
constexpr int kTickTasks = 1000;
// The limit of a part of an error's text. It leaves room for the words around
// that part.
constexpr size_t kMaxTextBytes = 1024;

uint64_t After(uint64_t now_ns, absl::Duration duration) {
  if (duration >= absl::Hours(24 * 365 * 100)) return TaskQueue::kNever;
  return now_ns + static_cast<uint64_t>(absl::ToInt64Nanoseconds(duration));
}

// Cuts the text before the first UTF-8 character that does not fit.
std::string Cut(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  const auto continues = [&text](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  size_t end = max_bytes;
  while (end > 0 && continues(end)) --end;
  return std::string(text.substr(0, end));
}

}  // namespace

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
                    uint64_t now_ns, std::unique_ptr<const WorkPolicy> own) {
  auto task = std::make_unique<Task>();
  task->token = token;
  task->own_policy = std::move(own);
  task->command = &CommandOf(command);
  ++task->command->tasks;
  Task& added = *task;
  tasks_.emplace(token, std::move(task));
  Queue(added, End::kBack, now_ns);
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
                "task_queue.h 1");
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
  ACTORD_ASSERT(!command.turns.empty(), "task_queue.h 2");
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
    ACTORD_ASSERT(erased == 1 && leased_ > 0, "task_queue.h 1");
    task.holder = nullptr;
    --leased_;
  }
  task.phase = Phase::kOver;
  SetTimer(task, kNever);
}

void TaskQueue::CancelAtHolder(Task& task, TaskCancel::Reason reason) {
  task.holder->cancels.push_back({{task.token, task.attempts}, reason});
  Wake(*task.holder);
}

void TaskQueue::EndYield(Task& task, absl::StatusCode code, std::string text) {
  Release(task);
  endings_.push_back({task.token, code, std::move(text)});
}

void TaskQueue::EndAttempt(Task& task, absl::StatusCode code,
                           std::string_view text, absl::Duration pause,
                           uint64_t now_ns) {
  Release(task);
  task.last_error = Cut(text, RemoteTasks::kMaxErrorBytes);
  const WorkPolicy& policy = task.policy();
  if (task.attempts >= policy.max_attempts) {
    EndYield(task, code,
             absl::StrCat(Cut(task.command->name, kMaxTextBytes),
                          " failed after ", task.attempts,
                          task.attempts == 1 ? " attempt: " : " attempts: ",
                          Cut(text, kMaxTextBytes)));
  } else if (pause <= absl::ZeroDuration()) {
    // The task has waited before, so it is the oldest of its process and comes
    // first.
    Queue(task, End::kFront, now_ns);
  } else {
    task.phase = Phase::kDelayed;
    SetTimer(task, After(now_ns, pause));
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

bool TaskQueue::Heartbeat(const YieldToken& token, uint64_t now_ns) {
  Task* const task = FindTask(token);
  if (task == nullptr || task->phase != Phase::kLeased) return false;
  task->lease_until_ns = After(now_ns, task->policy().lease);
  SetTimer(*task, std::min(task->lease_until_ns, task->attempt_until_ns));
  return true;
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
  const WorkPolicy& policy = task.policy();
  switch (task.phase) {
    case Phase::kQueued:
      EndYield(task, absl::StatusCode::kDeadlineExceeded,
               absl::StrCat("no worker took ",
                            Cut(task.command->name, kMaxTextBytes), " within ",
                            absl::FormatDuration(policy.start_timeout)));
      return;
    case Phase::kDelayed:
      Queue(task, End::kBack, now_ns);
      return;
    case Phase::kLeased: {
      const bool silent = task.lease_until_ns <= now_ns;
      if (silent) {
        task.holder->silent = true;
        Unrest(*task.holder);
      }
      CancelAtHolder(task, TaskCancel::Reason::kLeaseLost);
      EndAttempt(
          task, absl::StatusCode::kDeadlineExceeded,
          silent ? absl::StrCat("its worker gave no sign of life for ",
                                absl::FormatDuration(policy.lease))
                 : absl::StrCat("the attempt took longer than ",
                                absl::FormatDuration(policy.attempt_timeout)),
          absl::ZeroDuration(), now_ns);
      return;
    }
    case Phase::kOver:  // such a task has no timer
      SetTimer(task, kNever);
  }
}

// ---- Handing out tasks.

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
    ACTORD_ASSERT(!command.turns.empty(), "task_queue.h 2");
    Task& task = *PopTask(command);
    --worker->credits;
    ++task.attempts;
    task.phase = Phase::kLeased;
    task.holder = worker;
    worker->held.insert(task.token);
    ++leased_;
    task.lease_until_ns = After(now_ns, task.policy().lease);
    task.attempt_until_ns = After(now_ns, task.policy().attempt_timeout);
    SetTimer(task, std::min(task.lease_until_ns, task.attempt_until_ns));
    return Lease{task.token, task.attempts, &task.policy(),
                 task.attempt_until_ns};
  }
  return std::nullopt;
}

}  // namespace actord::runtime
