// Which task goes to which remote worker, for how long, and how often: credits,
// leases, retries. The state machine is drawn in remote_tasks.h.
//
// Fairness: of the commands that a worker carries out each has its turn, and
// within a command each process. The tasks of one process for one command come
// in their order, but for those that are tried again.
//
// Invariants:
//  1. A task is on exactly one of: its process's queue (kQueued), the timers
//     alone (kDelayed), its holder's tasks (kLeased), or on none (kOver).
//  2. A command is in the turns of every pattern that matches it while it has
//     a queued task, and in none otherwise.
//  3. A worker rests only with credits. While a task is queued that a resting
//     worker could take, some worker that could take it too was woken and has
//     not yet come (PassOn).
// Nothing here looks through all tasks, commands or workers, but for the
// commands that match when a pattern is new.
//
// Thread-safety: none; the owner locks. Time is passed in.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "runtime/process/pid.h"
#include "runtime/settings/work_policy.h"
#include "runtime/tasks/remote_tasks.h"

namespace actord::runtime {

class TaskQueue {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;

  // `policies`: see PolicyFor.
  explicit TaskQueue(std::vector<WorkPolicy> policies);
  ~TaskQueue();
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  // What holds for a command of which a yield says nothing.
  [[nodiscard]] const WorkPolicy& PolicyOf(std::string_view command) const {
    return PolicyFor(policies_, command);
  }
  // A yield waits from now on. `own`: its policy; null: that of its command.
  void Add(const YieldToken& token, std::string_view command, uint64_t now_ns,
           std::unique_ptr<const WorkPolicy> own = nullptr);
  // It does no longer. Its holder is told, unless the answer was that of its
  // own attempt. Nothing happens if it is not known.
  void Remove(const YieldToken& token, uint32_t answered_by);

  struct TaskState {
    uint32_t attempts = 0;  // handed out so far
    bool leased = false;
    uint64_t lease_until_ns = 0;
    std::string_view worker;      // who holds it
    std::string_view last_error;  // of the last attempt that failed
  };
  // nullopt: it is not known. The texts live until the next call.
  [[nodiscard]] std::optional<TaskState> StateOf(const YieldToken& token) const;

  RemoteWorkerId Open(const std::vector<std::string>& patterns,
                      std::string name);
  // See RemoteTasks; a worker that is not known is passed over.
  void Close(RemoteWorkerId worker, uint64_t now_ns);
  [[nodiscard]] bool AddCredits(RemoteWorkerId worker, uint32_t count);
  void StopTasks(RemoteWorkerId worker);
  void Heard(RemoteWorkerId worker);

  struct Lease {
    YieldToken token;
    uint32_t attempt = 0;
    // Lives until the task is removed.
    const WorkPolicy* policy = nullptr;
    uint64_t attempt_until_ns = kNever;
  };
  // The next task for the worker; nullopt: none now, or it has no credits.
  std::optional<Lease> Take(RemoteWorkerId worker, uint64_t now_ns);
  std::vector<TaskCancel> TakeCancels(RemoteWorkerId worker);
  // The worker has been served. It is to be woken for the next task if
  // `rests`; others are woken for what it has left.
  void Served(RemoteWorkerId worker, bool rests);

  // Of the attempt that is the last handed out. False: it is not leased (any
  // more), and nothing has happened.
  bool Fail(const YieldToken& token, const TaskFailure& failure,
            uint64_t now_ns);
  bool Heartbeat(const YieldToken& token, uint64_t now_ns);

  // Carries out what is due, but only so much; NextDue tells when to go on.
  void Tick(uint64_t now_ns);
  [[nodiscard]] uint64_t NextDue() const;

  // A task whose time or attempts have run out: its yield is to be completed
  // with this and then removed.
  struct Ending {
    YieldToken token;
    absl::StatusCode code = absl::StatusCode::kUnknown;
    std::string text;
  };
  // Since the last call.
  std::vector<Ending> TakeEndings() { return std::exchange(endings_, {}); }
  // Workers that are to Take, since the last call.
  std::vector<RemoteWorkerId> TakeWoken() { return std::exchange(woken_, {}); }
  [[nodiscard]] bool anyone_woken() const { return !woken_.empty(); }

  [[nodiscard]] size_t workers() const { return workers_.size(); }
  [[nodiscard]] size_t leased() const { return leased_; }

 private:
  struct Command;
  struct Pattern;
  struct RemoteWorker;

  enum class Phase { kQueued, kDelayed, kLeased, kOver };

  struct Task {
    YieldToken token;
    Command* command = nullptr;
    Phase phase = Phase::kOver;
    uint32_t attempts = 0;
    uint64_t timer_ns = kNever;  // its entry in timers_
    uint64_t lease_until_ns = 0;
    uint64_t attempt_until_ns = kNever;
    RemoteWorker* holder = nullptr;    // kLeased
    std::list<Task*>::iterator place;  // kQueued
    std::string last_error;
    std::unique_ptr<const WorkPolicy> own_policy;  // null: the command's

    [[nodiscard]] const WorkPolicy& policy() const;
  };
  // The tasks of one process that wait for one command. Never empty.
  struct ProcessQueue {
    std::list<Task*> tasks;
    std::list<Pid>::iterator turn;
  };
  // Exists while it has tasks.
  struct Command {
    std::string name;
    const WorkPolicy* policy = nullptr;
    size_t tasks = 0;
    absl::flat_hash_map<Pid, ProcessQueue> processes;
    std::list<Pid> turns;  // of `processes`
    // Where it stands in the turns of its patterns.
    std::vector<std::pair<Pattern*, std::list<Command*>::iterator>> in_patterns;
  };
  // Exists while a worker has subscribed to it.
  struct Pattern {
    std::string text;
    size_t workers = 0;
    std::list<Command*> turns;  // those with queued tasks
    std::list<RemoteWorker*> resting;
  };
  struct RemoteWorker {
    RemoteWorkerId id = 0;
    std::string name;
    std::vector<Pattern*> patterns;
    size_t next_pattern = 0;
    uint32_t credits = 0;
    bool stopped = false;
    bool silent = false;  // let a lease end and has not been heard since
    bool woken = false;   // and not Served since
    // The command for whose task it was woken; its alone: who is woken for one
    // is not found for another.
    std::string woken_for;
    absl::flat_hash_set<YieldToken> held;
    std::vector<TaskCancel> cancels;
    // Where it rests, for each of its patterns; empty: it does not.
    std::vector<std::list<RemoteWorker*>::iterator> resting;
  };
  enum class End { kFront, kBack };

  Task* FindTask(const YieldToken& token) const;
  RemoteWorker* FindWorker(RemoteWorkerId id) const;
  Command& CommandOf(std::string_view name);
  Pattern& PatternOf(const std::string& text);
  template <typename Function>
  void ForEachPattern(const Command& command, Function function);

  void Queue(Task& task, End end, uint64_t now_ns);
  void Unqueue(Task& task);
  Task* PopTask(Command& command);
  void MakeReady(Command& command);
  void MakeUnready(Command& command);
  void Release(Task& task);
  // The attempt is over and has not completed the yield.
  void EndAttempt(Task& task, absl::StatusCode code, std::string_view text,
                  absl::Duration pause, uint64_t now_ns);
  void EndYield(Task& task, absl::StatusCode code, std::string text);
  void CancelAtHolder(Task& task, TaskCancel::Reason reason);
  void Expire(Task& task, uint64_t now_ns);
  void SetTimer(Task& task, uint64_t at_ns);

  void Unrest(RemoteWorker& worker);
  void Wake(RemoteWorker& worker);
  void WakeOneFor(Command& command);
  // Invariant 3, when `worker` may have left the task that it was woken for.
  void PassOn(RemoteWorker& worker);
  void Unsubscribe(Pattern& pattern);

  const std::vector<WorkPolicy> policies_;
  absl::flat_hash_map<YieldToken, std::unique_ptr<Task>> tasks_;
  std::map<std::string, std::unique_ptr<Command>, std::less<>> commands_;
  absl::flat_hash_map<std::string, std::unique_ptr<Pattern>> patterns_;
  // How many patterns there are that are prefixes, by the prefix's length.
  std::map<size_t, size_t> prefix_lengths_;
  absl::flat_hash_map<RemoteWorkerId, std::unique_ptr<RemoteWorker>> workers_;
  RemoteWorkerId last_worker_ = 0;
  std::set<std::pair<uint64_t, YieldToken>> timers_;
  size_t leased_ = 0;
  std::vector<Ending> endings_;
  std::vector<RemoteWorkerId> woken_;
};

}  // namespace actord::runtime
