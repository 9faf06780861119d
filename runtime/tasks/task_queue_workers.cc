// The remote workers: their subscriptions, their credits, and which is woken.
#include <algorithm>
#include <utility>

#include "runtime/settings/command_pattern.h"
#include "runtime/system/assert.h"
#include "runtime/tasks/task_queue.h"

namespace actord::runtime {

TaskQueue::RemoteWorker* TaskQueue::FindWorker(RemoteWorkerId id) const {
  const auto it = workers_.find(id);
  return it == workers_.end() ? nullptr : it->second.get();
}

// ---- Patterns.

template <typename Function>
void TaskQueue::ForEachPattern(const Command& command,
                               Function function) const {
  const auto look = [&](const std::string& text) {
    const auto it = patterns_.find(text);
    if (it != patterns_.end()) function(*it->second);
  };
  // A pattern that ends in '*' is always a prefix, so it never names a command
  // whose own name ends in '*'.
  if (!command.name.ends_with('*')) look(command.name);
  for (const auto& [length, count] : prefix_lengths_) {
    if (length > command.name.size()) break;
    look(command.name.substr(0, length) + '*');
  }
}

bool TaskQueue::HasWorker(const YieldToken& token) const {
  const Task* const task = FindTask(token);
  if (task == nullptr) return false;
  bool has_worker = false;
  // A pattern exists while a worker subscribes to it.
  ForEachPattern(*task->command,
                 [&has_worker](const Pattern&) { has_worker = true; });
  return has_worker;
}

size_t TaskQueue::CountUnserved() const {
  size_t unserved = 0;
  size_t counted = 0;
  for (const auto& [name, command] : commands_) {
    if (counted++ == kMaxCounted) break;
    bool has_worker = false;
    ForEachPattern(*command,
                   [&has_worker](const Pattern&) { has_worker = true; });
    if (!has_worker) unserved += command->tasks;
  }
  return unserved;
}

TaskQueue::Pattern& TaskQueue::PatternOf(const std::string& text) {
  std::unique_ptr<Pattern>& pattern = patterns_[text];
  if (pattern != nullptr) return *pattern;
  pattern = std::make_unique<Pattern>();
  pattern->text = text;
  const auto enter = [&pattern](Command& command) {
    if (command.turns.empty()) return;
    command.in_patterns.emplace_back(
        pattern.get(), pattern->turns.insert(pattern->turns.end(), &command));
  };
  if (!text.ends_with('*')) {
    const auto it = commands_.find(text);
    if (it != commands_.end()) enter(*it->second);
    return *pattern;
  }
  const std::string prefix = text.substr(0, text.size() - 1);
  ++prefix_lengths_[prefix.size()];
  for (auto it = commands_.lower_bound(prefix);
       it != commands_.end() && it->first.starts_with(prefix); ++it) {
    enter(*it->second);
  }
  return *pattern;
}

void TaskQueue::Unsubscribe(Pattern& pattern) {
  if (--pattern.workers > 0) return;
  for (Command* const command : pattern.turns) {
    std::erase_if(command->in_patterns, [&pattern](const auto& entry) {
      return entry.first == &pattern;
    });
  }
  if (pattern.text.ends_with('*')) {
    const auto length = prefix_lengths_.find(pattern.text.size() - 1);
    if (--length->second == 0) prefix_lengths_.erase(length);
  }
  const std::string text = pattern.text;
  patterns_.erase(text);
}

void TaskQueue::MakeReady(Command& command) {
  ForEachPattern(command, [&command](Pattern& pattern) {
    command.in_patterns.emplace_back(
        &pattern, pattern.turns.insert(pattern.turns.end(), &command));
  });
}

void TaskQueue::MakeUnready(Command& command) {
  ACTORD_ASSERT(command.turns.empty(), "task_queue.h (2)");
  for (const auto& [pattern, turn] : command.in_patterns) {
    pattern->turns.erase(turn);
  }
  command.in_patterns.clear();
}

// ---- Workers.

RemoteWorkerId TaskQueue::Open(const std::vector<std::string>& patterns,
                               std::string name, Owner owner,
                               uint64_t now_unix_ns) {
  auto worker = std::make_unique<RemoteWorker>();
  worker->opened_unix_ns = now_unix_ns;
  worker->id = ++last_worker_;
  worker->name = std::move(name);
  worker->owner = owner;
  for (const std::string& text : patterns) {
    Pattern& pattern = PatternOf(text);
    const bool twice =
        std::find(worker->patterns.begin(), worker->patterns.end(), &pattern) !=
        worker->patterns.end();
    if (twice) continue;
    ++pattern.workers;
    worker->patterns.push_back(&pattern);
  }
  workers_.emplace(worker->id, std::move(worker));
  return last_worker_;
}

std::vector<RemoteWorkerInfo> TaskQueue::ListWorkers(
    const RemoteWorkerFilter& filter, RemoteWorkerId after,
    size_t count) const {
  std::vector<const RemoteWorker*> found;
  for (const auto& [id, worker] : workers_) {
    if (id <= after || !Sees(filter.by, worker->owner)) continue;
    const bool takes =
        filter.command.empty() ||
        std::ranges::any_of(worker->patterns, [&](const Pattern* pattern) {
          return MatchesPattern(pattern->text, filter.command);
        });
    if (takes) found.push_back(worker.get());
  }
  std::ranges::sort(found, {}, &RemoteWorker::id);
  if (found.size() > count) found.resize(count);
  std::vector<RemoteWorkerInfo> listed;
  listed.reserve(found.size());
  for (const RemoteWorker* const worker : found) {
    RemoteWorkerInfo& info = listed.emplace_back();
    info.id = worker->id;
    info.name = worker->name;
    info.owner = worker->owner;
    for (const Pattern* const pattern : worker->patterns) {
      info.patterns.push_back(pattern->text);
    }
    info.tasks = worker->held.size();
    info.credits = worker->credits;
    info.is_silent = worker->silent;
    info.is_stopped = worker->stopped;
    info.opened_unix_ns = worker->opened_unix_ns;
  }
  return listed;
}

void TaskQueue::Close(RemoteWorkerId id, uint64_t now_ns) {
  RemoteWorker* const worker = FindWorker(id);
  if (worker == nullptr) return;
  Unrest(*worker);
  LoseLeasesOf(*worker, now_ns);
  PassOn(*worker);
  for (Pattern* const pattern : worker->patterns) Unsubscribe(*pattern);
  workers_.erase(id);
}

bool TaskQueue::AddCredits(RemoteWorkerId id, uint32_t count) {
  RemoteWorker* const worker = FindWorker(id);
  if (worker == nullptr || worker->stopped) return true;
  if (uint64_t{worker->credits} + worker->held.size() + count >
      RemoteTasks::kMaxTasks) {
    return false;
  }
  worker->credits += count;
  return true;
}

void TaskQueue::StopTasks(RemoteWorkerId id) {
  RemoteWorker* const worker = FindWorker(id);
  if (worker == nullptr) return;
  worker->stopped = true;
  worker->credits = 0;
  Unrest(*worker);
  PassOn(*worker);
}

void TaskQueue::Heard(RemoteWorkerId id) {
  RemoteWorker* const worker = FindWorker(id);
  if (worker == nullptr || !worker->silent) return;
  worker->silent = false;
  Wake(*worker);
}

std::vector<TaskCancel> TaskQueue::TakeCancels(RemoteWorkerId id) {
  RemoteWorker* const worker = FindWorker(id);
  if (worker == nullptr) return {};
  return std::exchange(worker->cancels, {});
}

// ---- Waking workers.

void TaskQueue::Served(RemoteWorkerId id, bool rests) {
  RemoteWorker* const worker = FindWorker(id);
  if (worker == nullptr) return;
  worker->woken = false;
  Unrest(*worker);
  if (rests && worker->credits > 0 && !worker->silent) {
    for (Pattern* const pattern : worker->patterns) {
      worker->resting.push_back(
          pattern->resting.insert(pattern->resting.end(), worker));
    }
  }
  PassOn(*worker);
}

void TaskQueue::Unrest(RemoteWorker& worker) {
  for (size_t i = 0; i < worker.resting.size(); ++i) {
    worker.patterns[i]->resting.erase(worker.resting[i]);
  }
  worker.resting.clear();
}

void TaskQueue::Wake(RemoteWorker& worker) {
  Unrest(worker);
  if (std::exchange(worker.woken, true)) return;
  woken_.push_back(worker.id);
}

void TaskQueue::WakeOneFor(Command& command) {
  for (const auto& [pattern, turn] : command.in_patterns) {
    if (pattern->resting.empty()) continue;
    RemoteWorker& worker = *pattern->resting.front();
    ACTORD_ASSERT(worker.credits > 0, "task_queue.h (3)");
    Wake(worker);
    worker.woken_for = command.name;
    return;
  }
}

void TaskQueue::PassOn(RemoteWorker& worker) {
  const std::string name = std::exchange(worker.woken_for, {});
  const auto command = commands_.find(name);
  if (command != commands_.end() && !command->second->turns.empty()) {
    WakeOneFor(*command->second);
  }
}

}  // namespace actord::runtime
