// Decides which remote worker gets which task, for how long and how often:
// credits, leases, retries. The state machine is drawn in remote_tasks.h. The
// rules of leases are in task_queue_leases.cc.
//
// Fairness: a worker's commands take turns, and within a command its processes
// take turns. The tasks of one process for one command are handed out in order,
// except retries.
//
// Invariants:
//  1. A task is in exactly one place: its process's queue (kQueued), the timers
//     alone (kDelayed), its holder's tasks (kLeased), or none (kOver).
//  2. A command is in the turns of every pattern that matches it while it has
//     a queued task, and in none otherwise.
//  3. A worker rests (waits to be woken for a task) only with credits. While a
//     resting worker could take a queued task, some worker that could take that
//     task too has been woken and not served yet (PassOn).
// No function walks through all tasks, commands or workers, except through the
// commands that match a new pattern.
//
// Thread-safety: none; the owner locks. The caller passes the time.
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
#include "runtime/process/owner.h"
#include "runtime/process/pid.h"
#include "runtime/settings/work_policy.h"
#include "runtime/tasks/remote_tasks.h"

namespace actord::runtime {

// The attempts at a task in earlier starts of the daemon.
struct TaskHistory {
  uint32_t attempts = 0;       // handed out
  uint64_t lease_left_ns = 0;  // of the last one
  // The owner of the worker that got the last attempt.
  Owner worker_owner = Owner::kAny;
};

class TaskQueue {
 public:
  static constexpr uint64_t kNever = UINT64_MAX;
  // The length to which a part of an error's text is cut. It leaves room for
  // the words around that part.
  static constexpr size_t kMaxTextBytes = 1024;
  static constexpr size_t kMaxCounted = 4096;

  // `policies`: see PolicyFor.
  explicit TaskQueue(std::vector<WorkPolicy> policies);
  ~TaskQueue();
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  // The policy of a command, for yields without a policy of their own.
  [[nodiscard]] const WorkPolicy& PolicyOf(std::string_view command) const {
    return PolicyFor(policies_, command);
  }
  // Adds the task of a yield. `own`: the yield's policy; null: its command's.
  // With attempts in its history the task waits until the last lease is over,
  // because a worker may still be working, and may complete it.
  void Add(const YieldToken& token, std::string_view command, uint64_t now_ns,
           std::unique_ptr<const WorkPolicy> own = nullptr,
           const TaskHistory& history = {});
  // Removes the task of a yield that has ended. Its holder gets a cancel,
  // unless the holder's own attempt, number `answered_by`, gave the answer.
  // Nothing happens if the task is not known.
  void Remove(const YieldToken& token, uint32_t answered_by);

  struct TaskState {
    uint32_t attempts = 0;  // attempts handed out so far
    bool leased = false;
    uint64_t lease_until_ns = 0;
    std::string_view worker;  // name of the holder
    // The owner of the worker that got the last attempt, even if the attempt
    // has ended; kAny: no worker got one.
    Owner worker_owner = Owner::kAny;
    std::string_view last_error;  // error of the last attempt that failed
  };
  // nullopt: the task is not known. The texts live until the next call.
  [[nodiscard]] std::optional<TaskState> StateOf(const YieldToken& token) const;

  // Whether a worker is subscribed to the command of the task.
  [[nodiscard]] bool HasWorker(const YieldToken& token) const;
  // The number of tasks to whose commands no worker is subscribed, among the
  // first kMaxCounted commands.
  [[nodiscard]] size_t CountUnserved() const;

  RemoteWorkerId Open(const std::vector<std::string>& patterns,
                      std::string name, Owner owner, uint64_t now_unix_ns = 0);
  // See RemoteTasks. Takes time in proportion to the number of all workers.
  [[nodiscard]] std::vector<RemoteWorkerInfo> ListWorkers(
      const RemoteWorkerFilter& filter, RemoteWorkerId after,
      size_t count) const;
  // See RemoteTasks. A worker that is not known is ignored.
  void Close(RemoteWorkerId worker, uint64_t now_ns);
  [[nodiscard]] bool AddCredits(RemoteWorkerId worker, uint32_t count);
  void StopTasks(RemoteWorkerId worker);
  void Heard(RemoteWorkerId worker);

  struct Lease {
    YieldToken token;
    uint32_t attempt = 0;
    // Valid until the task is removed.
    const WorkPolicy* policy = nullptr;
    uint64_t attempt_until_ns = kNever;
  };
  // The next task for the worker. nullopt: there is none now, or the worker has
  // no credits or is silent.
  std::optional<Lease> Take(RemoteWorkerId worker, uint64_t now_ns);
  std::vector<TaskCancel> TakeCancels(RemoteWorkerId worker);
  // To be called after the worker was served. If `rests`, the worker will be
  // woken for the next task. If it has left the task that it was woken for,
  // another worker is woken.
  void Served(RemoteWorkerId worker, bool rests);

  // These two act on the attempt that was handed out last. False: the task is
  // not leased (any more), and nothing has happened.
  bool Fail(const YieldToken& token, const TaskFailure& failure,
            uint64_t now_ns);
  bool Heartbeat(const YieldToken& token, uint64_t now_ns);

  // Handles timers that are due, up to a limit. NextDue is the time of the next
  // call.
  void Tick(uint64_t now_ns);
  [[nodiscard]] uint64_t NextDue() const;

  // A task that ran out of time or attempts. The owner must complete its yield
  // with this error and then remove the task.
  struct Ending {
    YieldToken token;
    absl::StatusCode code = absl::StatusCode::kUnknown;
    std::string text;
  };
  // The endings since the last call.
  std::vector<Ending> TakeEndings() { return std::exchange(endings_, {}); }
  // The workers to wake since the last call, so that they call Take.
  std::vector<RemoteWorkerId> TakeWoken() { return std::exchange(woken_, {}); }

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
    uint64_t timer_ns = kNever;  // the time of its entry in timers_
    uint64_t lease_until_ns = 0;
    uint64_t attempt_until_ns = kNever;
    RemoteWorker* holder = nullptr;    // only if kLeased
    Owner last_holder = Owner::kAny;   // the owner of the last one
    std::list<Task*>::iterator place;  // only if kQueued
    std::string last_error;
    std::unique_ptr<const WorkPolicy> own_policy;  // null: the command's

    [[nodiscard]] const WorkPolicy& policy() const;
  };
  // The queued tasks of one process for one command. Never empty.
  struct ProcessQueue {
    std::list<Task*> tasks;
    std::list<Pid>::iterator turn;
  };
  // A command exists while it has tasks.
  struct Command {
    std::string name;
    const WorkPolicy* policy = nullptr;
    size_t tasks = 0;
    absl::flat_hash_map<Pid, ProcessQueue> processes;
    std::list<Pid> turns;  // the order of turns of `processes`
    // Its places in the turns of its patterns.
    std::vector<std::pair<Pattern*, std::list<Command*>::iterator>> in_patterns;
  };
  // A pattern exists while a worker subscribes to it.
  struct Pattern {
    std::string text;
    size_t workers = 0;
    std::list<Command*> turns;  // the commands with queued tasks
    std::list<RemoteWorker*> resting;
  };
  struct RemoteWorker {
    RemoteWorkerId id = 0;
    std::string name;
    Owner owner = Owner::kNobody;
    uint64_t opened_unix_ns = 0;
    std::vector<Pattern*> patterns;
    size_t next_pattern = 0;
    uint32_t credits = 0;
    bool stopped = false;
    bool silent = false;  // a lease expired, and no sign of life since
    bool woken = false;   // woken, and not Served since
    // The command for whose task it was woken. There is only one, because a
    // woken worker does not rest and so is not woken for another command.
    std::string woken_for;
    absl::flat_hash_set<YieldToken> held;
    std::vector<TaskCancel> cancels;
    // Its place in `resting` of each of its patterns; empty: it does not rest.
    std::vector<std::list<RemoteWorker*>::iterator> resting;
  };
  enum class End { kFront, kBack };

  Task* FindTask(const YieldToken& token) const;
  RemoteWorker* FindWorker(RemoteWorkerId id) const;
  Command& CommandOf(std::string_view name);
  Pattern& PatternOf(const std::string& text);
  template <typename Function>
  void ForEachPattern(const Command& command, Function function) const;

  void Queue(Task& task, End end, uint64_t now_ns);
  void Unqueue(Task& task);
  Task* PopTask(Command& command);
  void MakeReady(Command& command);
  void MakeUnready(Command& command);
  void Release(Task& task);
  void EndYield(Task& task, absl::StatusCode code, std::string text);
  // Handles the task's timer, which is due.
  void Expire(Task& task, uint64_t now_ns);
  void SetTimer(Task& task, uint64_t at_ns);
  // kNever for a duration of a hundred years or more.
  static uint64_t After(uint64_t now_ns, absl::Duration duration);

  // Gives the worker the task's next attempt.
  void Grant(Task& task, RemoteWorker& worker, uint64_t now_ns);
  void BeginLease(Task& task, uint64_t now_ns);
  // Takes the task from its holder, because the lease or the attempt has
  // reached its deadline.
  void LoseLease(Task& task, uint64_t now_ns);
  // Takes all tasks from a worker that is being closed.
  void LoseLeasesOf(const RemoteWorker& worker, uint64_t now_ns);
  // Ends an attempt that has not completed the yield.
  void EndAttempt(Task& task, absl::StatusCode code, std::string_view text,
                  absl::Duration pause, uint64_t now_ns);
  void CancelAtHolder(Task& task, TaskCancel::Reason reason);

  void Unrest(RemoteWorker& worker);
  void Wake(RemoteWorker& worker);
  void WakeOneFor(Command& command);
  // Restores invariant 3 when `worker` may have left the task that it was woken
  // for.
  void PassOn(RemoteWorker& worker);
  void Unsubscribe(Pattern& pattern);

  const std::vector<WorkPolicy> policies_;
  absl::flat_hash_map<YieldToken, std::unique_ptr<Task>> tasks_;
  std::map<std::string, std::unique_ptr<Command>, std::less<>> commands_;
  absl::flat_hash_map<std::string, std::unique_ptr<Pattern>> patterns_;
  // The number of patterns that are prefixes, by the length of the prefix.
  std::map<size_t, size_t> prefix_lengths_;
  absl::flat_hash_map<RemoteWorkerId, std::unique_ptr<RemoteWorker>> workers_;
  RemoteWorkerId last_worker_ = 0;
  std::set<std::pair<uint64_t, YieldToken>> timers_;
  size_t leased_ = 0;
  std::vector<Ending> endings_;
  std::vector<RemoteWorkerId> woken_;
};

}  // namespace actord::runtime
